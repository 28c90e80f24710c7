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
	// numbers in an observation: 56, by the standard encoder 4313
	// conformance suite: passed
	// best weights of 30: length -0.7, width -0.1, age +0.2
	// longest waiting first  mean JCT 4.17 h on test windows
	// shortest first         mean JCT 3.59 h on test windows
	// found                  mean JCT 3.59 h on test windows
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
	envtest.Run(t, func() (env.Env, error) { return newEnv(src, scenario.Train, &Lean{Window: 4}) })
}
