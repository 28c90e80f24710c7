package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/scenario"
)

func Example() {
	if err := run(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// numbers in an observation: 50, by the standard encoder 1507
	// conformance suite: passed
	// best weights of 30: length -1.0, width +1.5, age +0.3, starts +1.1, stops +0.4
	// as fifo, the prior     mean JCT 12.30 h on test windows
	// longest waiting first  mean JCT  6.38 h on test windows
	// shortest first         mean JCT  6.57 h on test windows
	// found                  mean JCT  3.15 h on test windows
}

// An environment keeps its contract whatever encoder it has.
func TestLean(t *testing.T) {
	s, err := scenario.Load("embedded-small-v1")
	if err != nil {
		t.Fatal(err)
	}
	src, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	envtest.Run(t, func() (env.Env, error) { return newEnv(src, scenario.Train, Lean{}) })
}
