package train

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/folderlock"
	"github.com/clustergym/clustergym/internal/must"
)

// TestTwoRunsInOneFolder checks that no run starts or resumes in a folder in which another run works, and that the attempt does
// not affect the other run.
func TestTwoRunsInOneFolder(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Updates = 3
	alone := fresh(t, opt)
	mustRun(t, cfg, alone)
	var errs []error
	busy := opt
	busy.Progress = func(m *Metrics) {
		if m.Update != 2 {
			return
		}
		for _, resume := range []bool{true, false} {
			second := opt
			second.Resume = resume
			_, _, err := Run(t.Context(), cfg, second)
			errs = append(errs, err)
		}
	}
	mustRun(t, cfg, busy)
	for _, err := range errs {
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s is in use by process %d", opt.Dir, os.Getpid())) {
			t.Errorf("a second run: error %v", err)
		}
	}
	got, want := results(t, opt.Dir), results(t, alone.Dir)
	for name, text := range want {
		if !bytes.Equal(got[name], text) {
			t.Errorf("%s is not that of a run alone:\n%s", name, printable(got[name]))
		}
	}
	if len(errs) != 2 || len(got) != len(want) {
		t.Errorf("%d tries, %d files, want 2 and %d", len(errs), len(got), len(want))
	}
}

// TestMetricsAreTrimmedByUpdate checks that a resumed run has one line of metrics for each update of its checkpoint, whatever the
// order of the lines it finds.
func TestMetricsAreTrimmedByUpdate(t *testing.T) {
	cfg, opt := tiny(t)
	mustRun(t, cfg, opt)
	for name, mix := range map[string]func(lines [][]byte) [][]byte{
		"every line twice":          func(l [][]byte) [][]byte { return slices.Concat(l[:1], l[:2], l[1:4], l[2:]) },
		"all lines, and again":      func(l [][]byte) [][]byte { return slices.Concat(l, l) },
		"backwards":                 func(l [][]byte) [][]byte { slices.Reverse(l); return l },
		"a line that is none":       func(l [][]byte) [][]byte { return slices.Insert(l, 2, []byte("{\n"), []byte("\n")) },
		"the last before the first": func(l [][]byte) [][]byte { return slices.Insert(l, 0, l[5]) },
	} {
		for _, step := range []string{"step-000006", ""} {
			again := opt
			again.Dir, again.Resume = filepath.Join(t.TempDir(), "run"), true
			must.Do(t, os.CopyFS(again.Dir, os.DirFS(opt.Dir)))
			edit(t, filepath.Join(again.Dir, metricsName), func(b []byte) []byte {
				return bytes.Join(mix(slices.Collect(bytes.Lines(b))), nil)
			})
			if step != "" { // resumes from update 4
				remove(t, filepath.Join(again.Dir, storeName, step))
			}
			mustRun(t, cfg, again)
			if a, b := results(t, again.Dir)[metricsName], results(t, opt.Dir)[metricsName]; !bytes.Equal(a, b) {
				t.Errorf("%s, without %q:\n%s\nwant\n%s", name, step, a, b)
			}
		}
	}
	// A run must not invent a missing line.
	again := opt
	again.Resume = true
	edit(t, filepath.Join(opt.Dir, metricsName), func(b []byte) []byte {
		return bytes.Join(slices.Delete(slices.Collect(bytes.Lines(b)), 2, 3), nil)
	})
	if _, _, err := Run(t.Context(), cfg, again); err == nil || !strings.Contains(err.Error(), "no line of update 3") {
		t.Errorf("a line is missing: error %v", err)
	}
}

// TestWhatAKilledRunLeftIsRemoved checks that the next run in a folder removes the half-written files of one that was killed, also
// among its own labels.
func TestWhatAKilledRunLeftIsRemoved(t *testing.T) {
	cfg, opt := tiny(t)
	labels := filepath.Join(opt.Dir, labelsName, "somewhere")
	must.Do(t, os.MkdirAll(labels, 0o777))
	left := []string{
		atomicfile.TempName(filepath.Join(opt.Dir, metricsName)), atomicfile.TempName(filepath.Join(labels, "0.safetensors")),
		filepath.Join(opt.Dir, folderlock.Name),
	}
	for _, path := range left {
		must.Do(t, os.WriteFile(path, []byte("half"), 0o666))
	}
	mustRun(t, cfg, opt)
	for _, path := range left {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
}
