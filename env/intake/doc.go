// Package intake makes a cluster.State of what the tools of a real cluster print: kubectl for Kubernetes, scontrol and squeue for
// Slurm. The State can then be written as a snapshot. What a State cannot represent is reported in Notes; nothing is left out in
// silence. Malformed input is an error that names the file, the line, the path of the field, its value and what was expected.
// Equal input gives equal States and equal Notes.
package intake
