package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	require "github.com/clustergym/clustergym/internal/must"
)

// clusterTool finds a command in a block of code that talks to a cluster.
var clusterTool = regexp.MustCompile(`(?m)(?:^(?:\$ )?|[|&;(] *)(?:kubectl|helm|squeue|scontrol|sinfo|sbatch|srun) `)

// testedSection is the only section whose commands a test runs against a Kubernetes: cmd/clustergym-kube/e2e.
const testedSection = "## A walk-through"

// TestCommandsForClustersAreMarked checks that each command that needs a cluster, and that no test runs, is marked: its section, or
// the beginning of its page, says that it needs a real cluster.
func TestCommandsForClustersAreMarked(t *testing.T) {
	pages := require.Get(filepath.Glob("../docs/*.md"))(t)
	tested, marked := 0, 0
	for _, page := range pages {
		sections := strings.Split("\n"+read(t, page), "\n## ")
		whole := strings.Contains(sections[0], "real cluster")
		for _, s := range sections {
			title, _, _ := strings.Cut(s, "\n")
			needs := false
			for i, block := range strings.Split("\n"+s, "\n```") {
				needs = needs || i%2 == 1 && clusterTool.MatchString(block)
			}
			switch {
			case !needs:
			case "## "+title == testedSection && filepath.Base(page) == "kubernetes.md":
				tested++
			case whole || strings.Contains(strings.Join(strings.Fields(s), " "), "real cluster"):
				marked++
			default:
				t.Errorf("%s, %q: commands for a cluster that no test runs, want a sentence that says that they need a real cluster", page, title)
			}
		}
	}
	if tested != 1 || marked == 0 {
		t.Errorf("%d sections tested and %d marked, want 1 and more than 0", tested, marked)
	}
}
