package profile

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/google/go-cmp/cmp"
)

// TestCoefficientsSurviveWriting checks that coefficients survive writing and reading, to the digits that are written.
func TestCoefficientsSurviveWriting(t *testing.T) {
	c := must.Get(parseCoefficients(strings.NewReader(committed)))(t)
	var first, second strings.Builder
	must.Do(t, WriteCoefficients(&first, c))
	again := must.Get(parseCoefficients(strings.NewReader(first.String())))(t)
	if diff := cmp.Diff(c, again); diff != "" {
		t.Error(diff)
	}
	if err := WriteCoefficients(&second, again); err != nil || first.String() != second.String() {
		t.Errorf("written twice, coefficients differ (error %v)", err)
	}
	if body := committed[strings.Index(committed, "\n\n")+2:]; body != first.String() {
		t.Error("coefficients.txt is not as WriteCoefficients writes it")
	}
}

func TestParseCoefficientsRefuses(t *testing.T) {
	const surface = "cpu=1 cpu_power=1 fetch=1 fetch_power=1 hold=1 hold_power=1 gpu=1 sharpness=2"
	for _, c := range []struct{ text, says string }{
		{"gavel", `line 1: "gavel" has 1 words`},
		{"\n# remark\nlyra x y=1", `line 3: kind "lyra", want gavel, memory, synergy or pollux`},
		{"gavel lm-5 T4 rate=1", `GPU type "T4", want one of [V100 P100 K80]`},
		{"gavel lm-5 V100 rate=1", "1 values, want 5"},
		{"gavel lm-5 V100 rate=0 s1=1 s2=1 p1=1 p2=1", `rate="0", want a number from 1e-09 to 1e+09`},
		{"gavel lm-5 V100 rate=1 s1=-1 s2=1 p1=1 p2=1", `s1="-1", want a number from 0`},
		{"gavel lm-5 V100 rate=1 s1=NaN s2=1 p1=1 p2=1", `s1="NaN"`},
		{"gavel lm-5 V100 rate=1 s2=1 s1=1 p1=1 p2=1", `value 2 is of "s2", want "s1"`},
		{"memory lm-5 mib", `mib=""`},
		{"synergy vae " + surface + "\nsynergy vae " + surface, "line 2: synergy vae twice"},
		{"synergy vae " + strings.Replace(surface, "sharpness=2", "sharpness=0.5", 1), `sharpness="0.5", want a number from 1`},
		{"pollux bert compute_base=1 compute_per_sample=1 local_base=1 local_per_replica=1 remote_base=1 " +
			"remote_per_replica=1 gamma=2 min_batch=8 max_batch=4", "min_batch=8, want no more than max_batch=4"},
		{strings.Repeat("x", 2*maxLine), "line 1: bufio.Scanner: token too long"},
	} {
		if _, err := parseCoefficients(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.80q: error %v, want one with %q", c.text, err, c.says)
		}
	}
}

// TestBuildAsksForAll checks that building the catalogue fails if a family lacks a record.
func TestBuildAsksForAll(t *testing.T) {
	for _, c := range []struct{ without, says string }{
		{"gavel lm-5 ", `family lm-5`},
		{"memory lm-5 ", `family lm-5`},
		{"synergy lstm ", `family lm-5: no coefficients for Synergy's model "lstm"`},
		{"pollux ncf ", `family recommendation-512: no coefficients for Pollux's application "ncf"`},
	} {
		var kept []string
		for line := range strings.Lines(committed) {
			if !strings.HasPrefix(line, c.without) {
				kept = append(kept, line)
			}
		}
		coefficients, err := parseCoefficients(strings.NewReader(strings.Join(kept, "")))
		if err == nil {
			_, err = build(coefficients)
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("without %q: error %v, want one with %q", c.without, err, c.says)
		}
	}
}

// FuzzParseCoefficients checks that no text makes the parser panic, and that accepted coefficients give positive speeds and
// times.
func FuzzParseCoefficients(f *testing.F) {
	f.Add(committed[:2000])
	f.Add("synergy vae cpu=1 cpu_power=1 fetch=1 fetch_power=1 hold=1 hold_power=1 gpu=1 sharpness=2 # remark")
	f.Add("memory lm-5 mib=1e3")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCoefficients(strings.NewReader(text))
		if err != nil {
			return
		}
		for name, s := range c.Surfaces {
			if speed := s.At(3, 62.5); !(speed > 0) {
				t.Fatalf("surface %s %+v: speed %g", name, s, speed)
			}
		}
		for name, s := range c.Scalings {
			if seconds := s.StepSeconds(2, 5, s.MinBatch); !(seconds > 0) {
				t.Fatalf("scaling %s %+v: %g seconds", name, s, seconds)
			}
		}
	})
}
