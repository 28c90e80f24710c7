//go:build !amd64 || openblas

package kernel

// lanes is false, because this build has no loops in assembly: see lanes_amd64.go.
var lanes = false

func multiply32(_, _, _ *float32, _, _, _, _, _ int, _, _ float32)             { panic(noLanes) }
func multiply8(_, _, _ *float32, _, _, _, _, _ int, _, _ float32, _ *[8]int32) { panic(noLanes) }
func largest8(*float32, int) float32                                           { panic(noLanes) }
func exponentials8(*float32, int, float32, *[13]float32)                       { panic(noLanes) }
func scale8(*float32, int, float32)                                            { panic(noLanes) }

const noLanes = "kernel: no assembly for this processor"
