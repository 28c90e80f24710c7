package scenario

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

// TestTextsThatActOnATerminal checks that Validate refuses control characters in a scenario's texts and in the files that it
// names.
func TestTextsThatActOnATerminal(t *testing.T) {
	for _, text := range []string{"\x1b[2J", "\u202egpj.exe", "\u2066x", "\u061c"} {
		for key, change := range map[string]func(*Scenario){
			"name":           func(s *Scenario) { s.Name = text },
			"about":          func(s *Scenario) { s.About = text },
			"real[1]":        func(s *Scenario) { s.Real = []string{"", text} },
			"assumed[0]":     func(s *Scenario) { s.Assumed = []string{text} },
			"workload.trace": func(s *Scenario) { s.Workload.Trace, s.Workload.Jobs, s.Workload.Load = text, 0, 0 },
		} {
			s := must.Get(Load("embedded-small-v1"))(t)
			change(s)
			if err := s.Validate(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s %q", key, text)) {
				t.Errorf("%s %q: error %v", key, text, err)
			}
		}
	}
	s, err := Load("embedded-small-v1")
	if err == nil {
		s.About = "a line\nand another"
		err = s.Validate()
	}
	if err != nil {
		t.Errorf("two lines: %v", err)
	}
}
