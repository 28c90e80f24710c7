// Package scenariotest opens scenarios for tests.
package scenariotest

import (
	"testing"

	"github.com/clustergym/clustergym/env/scenario"
)

// Open loads a scenario with settings and opens its source. An error fails the test.
func Open(tb testing.TB, name string, sets ...string) *scenario.Source {
	tb.Helper()
	s, err := scenario.Load(name, sets...)
	if err != nil {
		tb.Fatal(err)
	}
	src, err := s.Open()
	if err != nil {
		tb.Fatal(err)
	}
	return src
}

// Episode returns the first test window of a scenario with settings, under seed 1. An error fails the test.
func Episode(tb testing.TB, name string, sets ...string) scenario.Episode {
	tb.Helper()
	e, err := Open(tb, name, sets...).Episode(scenario.Test, 0, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}
