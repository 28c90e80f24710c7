package fit

import (
	"math"
	"slices"
	"strings"
	"testing"
)

const (
	placementsHead  = "placement,local_bsz,step_time,sync_time\n"
	scalabilityHead = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
)

func TestReadSteps(t *testing.T) {
	got, err := readPlacements(strings.NewReader(placementsHead + "1,4,0.5,0.1\n214,32,1.5,0.2\r\n"))
	if want := []stepTime{{1, 1, 4, 0.5}, {3, 7, 32, 1.5}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("placements %v, %v; want %v", got, err, want)
	}
	got, err = readScalability(strings.NewReader(scalabilityHead + "6,12,10,0.25,0\n"))
	if want := []stepTime{{6, 12, 10, 0.25}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("scalability %v, %v; want %v", got, err, want)
	}
}

func TestReadStepsRefuses(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "line 0: no steps"},
		{placementsHead, "line 1: no steps"},
		{"a,b\n", `line 1: header ["a" "b"]`},
		{placementsHead + "1,4,0.5\n", "line 2: 3 fields, want 4"},
		{placementsHead + "1,4,0.5,0\n10,4,0.5,0\n", `line 3: placement "10"`},
		{placementsHead + ",4,0.5,0\n", `line 2: placement ""`},
		{placementsHead + strings.Repeat("9", 65) + ",4,0.5,0\n", "up to 64 digits"},
		{placementsHead + "1,0,0.5,0\n", `local_bsz "0"`},
		{placementsHead + "1,4,NaN,0\n", `step_time "NaN"`},
		{placementsHead + "1,4,-1,0\n", `step_time "-1"`},
		{placementsHead + strings.Repeat("1", 2*maxPolluxLine), "line 2: bufio.Scanner: token too long"},
	} {
		if _, err := readPlacements(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("placements %.60q: error %v, want one with %q", c.text, err, c.says)
		}
	}
	for _, c := range []struct{ row, says string }{
		{"0,1,4,0.5,0", `num_nodes "0"`},
		{"1,x,4,0.5,0", `num_replicas "x"`},
		{"2,1,4,0.5,0", "num_replicas 1 on 2 nodes"},
	} {
		if _, err := readScalability(strings.NewReader(scalabilityHead + c.row)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("scalability %q: error %v, want one with %q", c.row, err, c.says)
		}
	}
}

// FuzzReadSteps checks that no file makes the readers panic, and that every step that they accept is within bounds.
func FuzzReadSteps(f *testing.F) {
	f.Add(placementsHead + "214,32,1.5,0.2\n")
	f.Add(scalabilityHead + "6,12,10,0.25,0\n")
	f.Fuzz(func(t *testing.T, text string) {
		a, _ := readPlacements(strings.NewReader(text))
		b, _ := readScalability(strings.NewReader(text))
		for _, s := range slices.Concat(a, b) {
			if s.Nodes < 1 || s.Replicas < s.Nodes || !(s.Batch > 0) || !(s.Seconds > 0) || math.IsInf(s.Batch*s.Seconds, 0) {
				t.Fatalf("step %+v", s)
			}
		}
	})
}
