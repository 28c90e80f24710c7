//go:build !amd64 || openblas

package kernel

// lanes is false, because this build has no loops in assembly: see lanes_amd64.go.
var lanes = false

func multiply16(_, _, _ *float32, _, _, _, _, _, _ int, _, _ float32)             { panic(noLanes) }
func multiply8(_, _, _ *float32, _, _, _, _, _, _ int, _, _ float32, _ *[8]int32) { panic(noLanes) }
func softmax8(*float32, int, int, *[8]int32, *[14][8]float32)                     { panic(noLanes) }
func softmaxBack8(_, _ *float32, _, _ int, _ *[8]int32)                           { panic(noLanes) }
func layerNorm8(_, _, _, _ *float32, _, _ int, _, _ float64)                      { panic(noLanes) }
func layerNormBack8(_, _, _, _, _ *float32, _, _ int, _, _ float64)               { panic(noLanes) }

const noLanes = "kernel: no assembly for this processor"
