package env

type Recorder = recorder
type TimeLimit = timeLimit
