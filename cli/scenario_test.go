package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

func TestScenarioLsGroupsFamilies(t *testing.T) {
	short, all := must(t, "scenario", "ls").out, must(t, "scenario", "ls", "--all").out
	contains(t, short, "loaning-small-v1", "kalos-load{070,090,110,150}-{strong,weak}-{rigid,moldable}-v1",
		"philly-load{070,090,110,150}-{strong,weak}-{rigid,moldable}-warm-v1")
	if n := strings.Count(all, "-load"); n != 128 || strings.Contains(short, "kalos-load070") {
		t.Errorf("--all lists %d scenarios of families, want 128 and none of them without it", n)
	}
	var lines []struct {
		Name   string   `json:"name"`
		Family []string `json:"family"`
	}
	require.Do(t, json.Unmarshal([]byte(must(t, "scenario", "ls", "--json").out), &lines))
	n := 0
	for _, l := range lines {
		n += max(1, len(l.Family))
	}
	if n != len(scenario.All()) {
		t.Errorf("%d scenarios as JSON, want %d", n, len(scenario.All()))
	}
}

func TestScenarioDescribeShowsTheCard(t *testing.T) {
	got := must(t, "scenario", "describe", "embedded-physics-v1", "--measure")
	contains(t, got.out, "physics: gpu-type * cpu-mem", "# Real:", "# Assumed:", "#   training: 8 servers of 8 V100 GPUs",
		"# test: 12 windows, 1800 jobs, load", "# queueing under sjfskip over the test windows: ", "# test-11 ")
	contains(t, got.talk, "12")
	if again := must(t, "scenario", "describe", file(t, "again.yaml", got.out)).out; !strings.HasPrefix(got.out, strings.Split(again, "# ")[0]) {
		t.Errorf("the scenario of the card is\n%s\nwant\n%s", again, got.out)
	}
}

func TestAScenarioThatThereIsNot(t *testing.T) {
	for _, args := range [][]string{
		{"scenario", "describe", "embedded-smal-v1"},
		{"eval", "-s", "venus-load100-strong-rigid-v1", "-p", "fifo"},
	} {
		if got := command(t, args...); got.code != cmdline.CodeUsage || !strings.Contains(got.talk, "no such scenario") {
			t.Errorf("%v: exit code %d, want %d; %s", args, got.code, cmdline.CodeUsage, got.talk)
		}
	}
}
