package main

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/clustergym/clustergym/env/scenario"
)

func Example() {
	if err := run(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// reward            prior    sum of rewards     by the log   of short jobs   by agent
	// flow              fifo             -22146         -22146            48 %   all alike
	// flow              sjfskip           -6460          -6460            12 %   all alike
	// bounded slowdown  fifo           -1557100       -1557100            99 %   -194859 to -194532
	// bounded slowdown  sjfskip         -115035        -115035            99 %   -14679 to -14221
}

// What agents are given is what all are given, in parts.
func TestSlowdownOfAgentsSumsUp(t *testing.T) {
	s, err := scenario.Load("embedded-small-v1")
	if err != nil {
		t.Fatal(err)
	}
	src, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	got, err := play(src, Slowdown{Floor: floor}, "sjfskip")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, x := range got.agents {
		sum += x
	}
	if math.Abs(sum-got.rewards) > 1e-6*math.Abs(sum) || len(got.agents) != 8 {
		t.Errorf("agents are given %v in all, the team %v", sum, got.rewards)
	}
}
