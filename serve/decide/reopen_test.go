package decide_test

import (
	"os"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/serve/decide"
)

// TestALogThatWasMovedAwayIsReopened checks that decisions go to the file that has the log's path now, and that each of the two
// files can be decided again, with what was learned before.
func TestALogThatWasMovedAwayIsReopened(t *testing.T) {
	path := logPath(t)
	log := must.Get(decide.OpenLog(path, decide.Record{Physics: "ideal"}))(t)
	s := newSite(t, load(t, learns), func(c *decide.Config) { c.Decisions = log })
	days := day()
	s.show(t, days[:4]...)
	must.Do(t, os.Rename(path, path+".1"))
	s.show(t, days[4])
	s.ReopenLog()
	s.show(t, days[5:]...)
	if got := s.Served().Beliefs.Ended; got != 6 {
		t.Errorf("learned from %d jobs, want 6, one of which ended between the two files", got)
	}
	for name, want := range map[string]int{path + ".1": 5, path: 2} {
		text := must.Get(os.ReadFile(name))(t)
		if n := strings.Count(string(text), "\n"); n != want {
			t.Errorf("%s has %d lines, want %d", name, n, want)
		}
		for _, said := range replay(t, string(text), load(t, learns)) {
			if said != "" {
				t.Errorf("%s: %s", name, said)
			}
		}
	}

	// A path that cannot be opened leaves the log where it is.
	must.Do(t, os.Rename(path, path+".2"))
	must.Do(t, os.Mkdir(path, 0o700))
	s.ReopenLog()
	s.show(t, days[6])
	text, err := os.ReadFile(path + ".2")
	if n := strings.Count(string(text), "\n"); err != nil || n != 3 {
		t.Errorf("%d lines in the old file, want 3: %v", n, err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}
