package option

import (
	"strings"
	"testing"
	"time"
)

type order string

type knobs struct {
	tau   float64
	n     int
	wait  time.Duration
	fill  bool
	order order
	file  string
}

func declare(k *knobs) *Set {
	var s Set
	s.Float(&k.tau, "tau", 0, 10, "patience", "own")
	s.Int(&k.n, "n", 1, 5, "count", "own")
	s.Duration(&k.wait, "wait", "pause", "own")
	s.Bool(&k.fill, "fill", "fill gaps", "own")
	Choice(&s, &k.order, "order", []order{"first", "last"}, "which end", "own")
	s.Text(&k.file, "file", "a file", func(string) error { return nil }, "where from", "own")
	return &s
}

func TestParse(t *testing.T) {
	start := knobs{0.5, 2, time.Second, false, "first", ""}
	for _, c := range []struct {
		text string
		want knobs
	}{
		{"", start},
		{"tau=2", knobs{2, 2, time.Second, false, "first", ""}},
		{"n=5:wait=5m:fill=true", knobs{0.5, 5, 5 * time.Minute, true, "first", ""}},
		{"order=last:file=a=b", knobs{0.5, 2, time.Second, false, "last", "a=b"}},
	} {
		k := start
		if _, err := declare(&k).Parse(c.text); err != nil || k != c.want {
			t.Errorf("%q: %+v, %v, want %+v", c.text, k, err, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"tau":           "option tau has no value, want tau=0.5",
		"tau=11":        `option tau: "11", want a number from 0 to 10`,
		"tau=NaN":       `option tau: "NaN", want a number from 0 to 10`,
		"tau=1:tau=2":   "option tau comes twice",
		"n=1.5":         `option n: "1.5", want a whole number from 1 to 5`,
		"wait=-1s":      `option wait: "-1s", want a time of 0 or more`,
		"fill=perhaps":  `option fill: "perhaps", want true or false`,
		"order=middle":  `option order: "middle", want one of first, last`,
		"speed=1":       `no option "speed", want one of tau, n, wait, fill, order, file`,
		"tau=1::n=2":    `no option ""`,
		"tau=1,n=2":     `option tau: "1,n=2"`,
		" tau=1":        `no option " tau"`,
		"order=first:n": "option n has no value, want n=2",
	} {
		k := knobs{tau: 0.5, n: 2}
		if _, err := declare(&k).Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// TestDefaultsParse checks that Parse accepts the default of each option as listed.
func TestDefaultsParse(t *testing.T) {
	start := knobs{0.25, 3, 90 * time.Second, true, "last", "x"}
	var parts []string
	k := start
	for _, o := range declare(&k).All() {
		parts = append(parts, o.Name+"="+o.Default)
	}
	var got knobs
	if _, err := declare(&got).Parse(strings.Join(parts, ":")); err != nil || got != start {
		t.Errorf("%q: %+v, %v, want %+v", parts, got, err, start)
	}
}

// TestGoneOptions checks that an option that is gone is refused with the reason and those that there are, and one that never was is
// not said to be gone.
func TestGoneOptions(t *testing.T) {
	var s Set
	x := 1
	s.Int(&x, "x", 0, 9, "", "")
	s.Gone("y", "z")
	for text, want := range map[string]string{
		"y=1":     "option y is gone, because no other value of it was useful: leave it out; want one of x",
		"x=2:z":   "option z is gone, because no other value of it was useful: leave it out; want one of x",
		"other=1": `no option "other", want one of x`,
	} {
		if _, err := s.Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}
