package tbevent

var New = newWriter
