package main

import (
	"os"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/examples/maintest"
)

func TestMain(m *testing.M) { maintest.Main(m, main) }

// TestEnvironments checks that environments with the encoder pass the checks of env check, and list the encoder's features.
func TestEnvironments(t *testing.T) {
	maintest.Run(t, "env", "check", "--scenario", "embedded-small-v1", "--encoder", "lean")
	out := maintest.Run(t, "env", "describe", "--scenario", "embedded-small-v1", "--encoder", "lean")
	maintest.Holds(t, out, "free_gpus", "length", "width", "age", "starts", "stops")
	_, features, _ := strings.Cut(out, "feature ")
	if n := strings.Count(features, "\n"); n != 1+6 {
		t.Errorf("%d features, want 6:\n%s", n-1, features)
	}
}

// TestTraining checks that a team trained with the encoder can be exported and decides.
func TestTraining(t *testing.T) {
	t.Chdir(t.TempDir())
	maintest.Run(t, "train", "--scenario", "embedded-small-v1", "--updates", "1", "--set", "train.windows=1", "--set", "train.validation=1",
		"--set", "train.encoder=lean", "--dir", "run")
	maintest.Run(t, "export", "--run", "run", "--out", "policy")
	manifest, err := os.ReadFile("policy/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	maintest.Holds(t, string(manifest), `"encoder": "lean"`)
	maintest.Holds(t, maintest.Run(t, "eval", "--scenario", "embedded-small-v1", "--windows", "1", "--seeds", "1", "--policies",
		"mine=policy,prior", "--json", "--figures", "none"), `"mine"`)
	maintest.Holds(t, maintest.Fail(t, "train", "--scenario", "embedded-small-v1", "--set", "train.encoder=rich"),
		`encoder "rich" is not part of this program, which has standard, uncertain, lean`)
}
