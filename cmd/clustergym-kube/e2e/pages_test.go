package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/internal/must"
)

// pages returns the text of the manual and of the runbook.
func pages(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, path := range []string{page, "../../../docs/runbook-kubernetes.md"} {
		text := must.Get(os.ReadFile(path))(t)
		all.Write(text)
	}
	return all.String()
}

// names returns the first groups of all matches of a pattern, sorted, without duplicates.
func names(pattern, text string) []string {
	set := map[string]bool{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		set[m[1]] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// TestPagesNameFlags checks that the flags in the pages exist, except for a few of other programs.
func TestPagesNameFlags(t *testing.T) {
	path := must.Get(program())(t)
	help := must.Get(exec.Command(path, "--help").Output())(t)
	known := append(names(` --([a-z-]+) `, string(help)), "set", "runtime-config")
	for _, flag := range names("`(?:clustergym-kube )?--([a-z-]+)", pages(t)) {
		if !slices.Contains(known, flag) {
			t.Errorf("the pages name --%s, which is no flag", flag)
		}
	}
}

// TestPagesNameReasons checks that the manual lists every reason for which a pod is refused.
func TestPagesNameReasons(t *testing.T) {
	source := must.Get(os.ReadFile("../mirror/ask.go"))(t)
	reasons, text := names(`[rR]eason\w+\s+= "(\w+)"`, string(source)), pages(t)
	if len(reasons) < 10 {
		t.Fatalf("only the reasons %q found", reasons)
	}
	for _, reason := range reasons {
		if !strings.Contains(text, "| `"+reason+"` |") {
			t.Errorf("the manual does not tell of the reason %s", reason)
		}
	}
}

// TestPagesShowManifests checks that the API server accepts the manifests in the manual.
func TestPagesShowManifests(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{NativeGroups: true})
	c.ApplyCRD()
	blocks := names("(?s)\n```yaml\n(.*?)\n```\n", pages(t))
	if len(blocks) == 0 {
		t.Fatal("no manifests found")
	}
	for _, block := range blocks {
		file := filepath.Join(c.Dir, "manifest.yaml")
		must.Do(t, os.WriteFile(file, []byte(block), 0o600))
		if out, err := c.Kubectl("apply", "--dry-run=server", "--validate=strict", "-f", file); err != nil {
			t.Errorf("%v\n%s\nof\n%s", err, out, block)
		}
	}
}

// checkMetrics compares the metrics in the pages with those that the program serves.
func checkMetrics(t *testing.T, s *scheduler) {
	t.Helper()
	text := must.Get(get(s.metrics))(t)
	served, told := names(`# TYPE (clustergym_\w+) `, text), names(`\b(clustergym_[a-z_]*[a-z])\b`, pages(t))
	served = append(served, "clustergym_kube_expected_start_seconds", // while no waiting gang has a forecast it is absent
		// Without --objective these are.
		"clustergym_cost_total", "clustergym_cost_per_minute", "clustergym_shadow_cost_total", "clustergym_shadow_cost_per_minute")
	for _, name := range told {
		if !slices.Contains(served, name) {
			t.Errorf("the pages name %s, which is no metric", name)
		}
	}
	for _, name := range served {
		if !slices.Contains(told, name) {
			t.Errorf("the pages do not name the metric %s", name)
		}
	}
}
