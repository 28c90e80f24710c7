// Package slurmtext reads the text in which Slurm's tools write hosts and resources: lists of hosts such as node[01-03,07],
// generic resources (GRES) such as gpu:a100:4(IDX:0-2,5), and trackable resources (TRES) such as
// cpu=16,mem=64G,gres/gpu:a100=2. Its errors say what was expected and what was found, to follow the word "want". Equal text
// gives equal values; every list has a limit, which holds while it is read.
package slurmtext
