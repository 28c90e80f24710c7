package cli

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// TestLackingEstimatesAreNamed checks that a policy that needs estimates says for a snapshot without them what to type, and that
// this works.
func TestLackingEstimatesAreNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	told := must(t, "plan", "--example").out
	snapshot := file(t, "cluster.json", regexp.MustCompile(`,"estimate_s":[0-9.]+`).ReplaceAllString(told, ""))
	for _, name := range []string{"sjfskip", "srtf+know:time=told", "lyra", "released", "mine=srsf+menu+move"} {
		s := command(t, "plan", "--snapshot", snapshot, "--policy", name)
		_, hint, ok := strings.Cut(s.talk, "has no estimate of its duration")
		if s.code != cmdline.CodeError || !ok {
			t.Fatalf("%s: exit code %d\n%s", name, s.code, s.talk)
		}
		contains(t, hint, "--assume 1h")
		must(t, "plan", "--snapshot", snapshot, "--policy", name, "--assume", "1h")
		_, other, _ := strings.Cut(hint, "--policy ")
		must(t, "plan", "--snapshot", snapshot, "--policy", strings.Fields(other)[0])
	}
	url, _, end := serving(t, "--policy", "sjfskip")
	defer end()
	if status, answer := request(t, http.MethodPost, url+"/v1/plan", read(t, snapshot)); status != http.StatusUnprocessableEntity ||
		!strings.Contains(answer, "serve --assume 1h") {
		t.Errorf("status %d: %s", status, answer)
	}
}

// TestLackingBeliefsAreNamed checks that a policy that begins with what a training split taught names the file, the flag and the
// command that writes the file, and that it decides with this file.
func TestLackingBeliefsAreNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	snapshot := file(t, "cluster.json", must(t, "plan", "--example").out)
	for _, name := range []string{"sjfskip+know:seen=training", "released+know:speed=fit:seen=training"} {
		for _, c := range [][]string{
			{"plan", "--snapshot", snapshot}, {"whatif", "--snapshot", snapshot}, {"serve", "--listen", "127.0.0.1:0"},
			{"whatif", "--snapshot", snapshot, "--policy", "fifo", "--against"},
		} {
			if c[len(c)-1] != "--against" {
				c = append(c, "--policy")
			}
			s := command(t, append(c, name)...)
			if s.code == cmdline.CodeOK {
				t.Errorf("%s decides without beliefs", name)
			}
			contains(t, s.talk, name, "seen=training", "clustergym beliefs --scenario SCENARIO --save beliefs.json", "--beliefs beliefs.json")
		}
	}
	contains(t, command(t, "serve", "--listen", "127.0.0.1:0", "--policy", "fjf+know:seen=training", "--beliefs", "new.json").talk,
		"new.json has nothing of that", "clustergym beliefs --scenario SCENARIO --save new.json")
	must(t, "beliefs", "--scenario", "embedded-small-untold-v1", "--save", "new.json")
	learned := []string{"--policy", "srsf+know:speed=fit:seen=training", "--beliefs", "new.json"}
	must(t, append([]string{"whatif", "--snapshot", snapshot}, learned...)...)
	plan := must(t, append([]string{"plan", "--snapshot", snapshot}, learned...)...).out
	_, _, ended := serving(t, learned...)
	if code := ended(); code != cmdline.CodeOK {
		t.Errorf("serve: exit code %d", code)
	}
	untaught := must(t, "plan", "--snapshot", snapshot, "--policy", "srsf+know:speed=fit").out
	if _, rest, _ := strings.Cut(plan, "\n"); strings.HasSuffix(untaught, rest) {
		t.Error("the policy decides as one that has learned nothing")
	}
}
