package cli

import (
	"encoding/json"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// TestDemo checks that in every window exactly one of the two heuristics is at the optimum, so that what the simulator plays is
// what package toy computes, and that the team comes close to the optimum, which neither heuristic does.
func TestDemo(t *testing.T) {
	t.Chdir(t.TempDir())
	var got demonstrated
	require.Do(t, json.Unmarshal([]byte(must(t, "demo", "--json").out), &got))
	rows := map[string]demoRow{}
	for _, r := range got.Rows {
		rows[r.Policy] = r
		if r.Above < 0 {
			t.Errorf("%s is better than the optimum: %+v", r.Policy, r)
		}
	}
	if n := rows["fifo"].Best + rows["sjfskip"].Best; n != got.Windows || got.Windows != 120 {
		t.Errorf("the heuristics are at the optimum in %d of %d windows, want one of them in each of 120", n, got.Windows)
	}
	if fifo, sjf, team := rows["fifo"], rows["sjfskip"], rows["team"]; fifo.Above < 0.1 || sjf.Above < 0.1 || team.Above > 0.01 {
		t.Errorf("above the optimum: fifo %v, sjfskip %v, team %v, want over 0.1, over 0.1 and at most 0.01", fifo.Above, sjf.Above, team.Above)
	}
	contains(t, must(t, "eval", "-q", "-s", "runs/demo/toy.yaml", "-p", "fifo,runs/demo/team", "--windows", "3", "--figures", "none").out, "team")
	if s := command(t, "demo"); s.code != cmdline.CodeUsage {
		t.Errorf("a second time: exit code %d\n%s", s.code, s.talk)
	}
}
