package phrase_test

import (
	"testing"

	"github.com/clustergym/clustergym/internal/phrase"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 windows", 1: "1 window", 2: "2 windows", -1: "-1 windows"} {
		if got := phrase.Count(n, "window"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "0s", 1.5: "1.5s", 119: "119s", 120: "2.0min", 7199: "120.0min", 7200: "2.0h", 86400: "24.0h", 172800: "2.0d", 1e9: "11574.1d",
	} {
		if got := phrase.Seconds(seconds); got != want {
			t.Errorf("%v: %q, want %q", seconds, got, want)
		}
	}
}
