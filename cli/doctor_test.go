package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	public "github.com/clustergym/clustergym/env/trace/fetch"
	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// TestDoctor checks what doctor says on a machine with nothing besides the program, and with a tool that is broken.
func TestDoctor(t *testing.T) {
	t.Chdir(t.TempDir())
	tools := t.TempDir()
	t.Setenv("PATH", tools)
	t.Setenv("CLUSTERGYM_SHARED", "")
	require.Do(t, os.WriteFile(filepath.Join(tools, "git"), []byte("#!/bin/sh\nexit 3\n"), 0o755))
	var all []finding
	require.Do(t, json.Unmarshal([]byte(must(t, "doctor", "--json").out), &all))
	status := map[string]string{}
	for _, f := range all {
		status[f.Check] = f.Status
		if f.Status != statusOK && f.Do == "" {
			t.Errorf("%s: nothing to do about it", f.Check)
		}
	}
	for check, want := range map[string]string{"program": statusOK, "released": statusOK, "folder": statusOK, "path": statusMissing,
		"traces": statusMissing, "python3": statusMissing, "git": statusMissing} {
		if status[check] != want {
			t.Errorf("%s: %s, want %s", check, status[check], want)
		}
	}
	for line := range strings.Lines(must(t, "doctor").out) {
		if len(line) > 120 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("it leaves %v, %v", files, err)
	}
	if err := os.Chdir("/proc"); err != nil { // nothing can be written there
		t.Skip(err)
	}
	if s := command(t, "doctor"); s.code != cmdline.CodeError || !strings.Contains(s.out, "fails    folder") {
		t.Errorf("exit code %d\n%s", s.code, s.out)
	}
}

// TestDoctorWaitsForNoTool checks that a tool that never answers counts as missing, even if what it started holds its output.
func TestDoctorWaitsForNoTool(t *testing.T) {
	t.Chdir(t.TempDir())
	tools := t.TempDir()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	require.Do(t, os.WriteFile(filepath.Join(tools, "git"), []byte("#!/bin/sh\n"+sleep+" 60\n"), 0o755))
	t.Setenv("PATH", tools)
	defer func(before time.Duration) { toolTime = before }(toolTime)
	toolTime = 100 * time.Millisecond
	contains(t, must(t, "doctor").out, "git fails: no answer within 100ms")
}

// TestDoctorLooksWhereScenariosDo checks that doctor finds traces beside the module, too, as scenarios do.
func TestDoctorLooksWhereScenariosDo(t *testing.T) {
	root := t.TempDir()
	within := filepath.Join(root, "module", "deep")
	require.Do(t, os.MkdirAll(within, 0o777))
	require.Do(t, os.WriteFile(filepath.Join(root, "module", "go.mod"), nil, 0o666))
	for _, set := range public.Sets() {
		for _, f := range set.Files {
			path := filepath.Join(root, "shared", "traces", set.Folder, f.Name)
			require.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
			require.Do(t, os.WriteFile(path, nil, 0o666))
		}
	}
	t.Setenv("CLUSTERGYM_SHARED", "")
	t.Chdir(within)
	if f := checkTraces(); f.Status != statusOK {
		t.Errorf("%+v", f)
	}
}
