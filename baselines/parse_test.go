package baselines

import (
	"errors"
	"strings"
	"testing"
)

// TestNames checks that a scheduler's Name is the name with options and suffixes by which it was made.
func TestNames(t *testing.T) {
	for _, name := range []string{
		"fifo", "sjfhold:times=3", "srtf+menu", "sjfskip+loan", "las:place=bestfit+loan", "sjfhold:times=3:place=bestfit+menu+loan",
		"lyra+move", "srsf+menu:wait=false+move:saves=1h+loan", "las+know:by=mean+loan", "sjfhold:times=1e+06+loan",
	} {
		if s := parsed(t, name); s.String() != name || made(t, name).Name() != name || !tested().Known(name) {
			t.Errorf("%s: %q makes %q", name, s, made(t, name).Name())
		}
	}
}

// TestMistakes checks that a mistake in a name is found where it is, with what was expected there.
func TestMistakes(t *testing.T) {
	for name, want := range map[string]string{
		"lifo":                    `policy "lifo": no such baseline "lifo", want one of fifo, fjf`,
		"lifo+loan":               `did you mean "fifo"?`,
		"":                        `policy "": no such baseline ""`,
		"x=fifo":                  `policy "x=fifo": no such baseline "x=fifo"`,
		"fifo:speed=1":            `policy "fifo:speed=1", character 6: no option "speed", want one of backfill, place`,
		"fifo:plase=pack":         `did you mean "place"?`,
		"sjfhold:times=3:times=4": "character 17: option times comes twice",
		"sjfhold:times=-1":        `character 9: option times: "-1", want a number from 0 to 1e+06`,
		"sjfhold:times=3:x":       `character 17: no option "x"`,
		"fifo::place=pack":        `character 6: no option ""`,
		"fifo+loan+menu":          "character 10: +menu behind +loan, want suffixes once each, in the order +menu+move+loan+know",
		"fifo+move+menu":          "character 10: +menu behind +move",
		"fifo+loan+loan":          "character 10: +loan behind +loan",
		"fifo+loan+know+loan":     "character 15: +loan behind +know",
		"fifo+loan:all=1":         `character 11: no option "all"`,
		"fifo+menu:tries=2:all=1": `character 19: no option "all"`,
		"fifo+move:all=1":         `character 11: no option "all"`,
		"fifo+know:time=learned":  `character 11: option time: "learned", want one of age, history, told, truth`,
		"lyra+menu":               "character 5: it chooses amounts itself, want +menu behind an order of jobs",
		"fifo+lend":               `character 5: no suffix "+lend", want one of +menu, +move, +loan, +know`,
		"fifo+menu+laon":          `character 10: no suffix "+laon", want one of +menu, +move, +loan, +know: did you mean "+loan"?`,
	} {
		_, err := tested().Parse(name)
		var m *Mistake
		if !errors.As(err, &m) || m.Policy != name || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", name, err, want)
		}
	}
}

// TestParsePolicy checks which names have a label, and what stands for a policy that is no baseline.
func TestParsePolicy(t *testing.T) {
	for name, want := range map[string][3]string{ // label, base, suffixes
		"fifo:backfill=easy":           {"", "fifo:backfill=easy", ""},
		"mine=srsf+menu:places=8":      {"mine", "srsf", "+menu:places=8"},
		"fifo=srsf":                    {"fifo", "srsf", ""},
		"released":                     {"", "released", ""},
		"released+loan:reclaim=scf":    {"", "released", "+loan:reclaim=scf"},
		"x=released+loan+know:by=mean": {"x", "released", "+loan+know:by=mean"},
		"runs/a+b:c+know":              {"", "runs/a+b:c", "+know"},
		"runs/a+menu+know":             {"", "runs/a+menu", "+know"},
		"runs/a=b=c+loan":              {"runs/a", "b=c", "+loan"},
		"runs/a+loan+x":                {"", "runs/a+loan+x", ""},
	} {
		s, err := tested().ParsePolicy(name)
		if got := [3]string{s.Label, s.Base, strings.Join(s.Suffixes, "")}; err != nil || got != want || s.String() != name {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"": "want a name, a folder, or name=folder", "=fifo": "want a name, a folder", "x=": "want a name, a folder",
		"mine=fifo:plase=pack":    `character 11: no option "plase"`,
		"runs/a+know:time=never":  `character 13: option time: "never"`,
		"released+loan+loan+know": "character 14: +loan behind +loan",
	} {
		if _, err := tested().ParsePolicy(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", name, err, want)
		}
	}
}

// FuzzParse checks that a name which is parsed prints itself back as it was written, that a baseline's scheduler has that name,
// and that every error is a Mistake inside the name.
func FuzzParse(f *testing.F) {
	for _, name := range []string{
		"", "fifo", "mine=sjfhold:times=1e+06+menu:wait=false+move+loan:reclaim=scf+know:time=history", "a=b+know+loan", "runs/x:y+z+loan",
		"a-srpt:predictor=x.predictor", "srsf+menu+menu", "released+loan:", "las+know:time=truth",
	} {
		f.Add(name)
	}
	all := tested()
	f.Fuzz(func(t *testing.T, name string) {
		s, err := all.ParsePolicy(name)
		if err != nil {
			if m := (*Mistake)(nil); !errors.As(err, &m) || m.Policy != name || m.At < 0 || m.At > len(name) {
				t.Fatalf("%q: %#v", name, err)
			}
			return
		}
		if s.String() != name {
			t.Fatalf("%q prints itself as %q", name, s)
		}
		if !s.IsBaseline() || len(s.Files()) > 0 || s.Lacks(Given{}) != nil {
			return
		}
		if made, err := s.New(Given{}); err != nil || made.Name() != s.Rule() {
			t.Fatalf("%q makes %v, %v", name, made, err)
		}
	})
}

// TestDescriptions checks that every baseline and each of its options has a description.
func TestDescriptions(t *testing.T) {
	all := tested().All()
	for _, suffix := range Suffixes() {
		b, ok := tested().Find(suffix)
		if !ok {
			t.Fatalf("%s is not described", suffix)
		}
		all = append(all, b)
	}
	for _, b := range all {
		for field, text := range map[string]string{"about": b.About, "rule": b.Rule, "source": b.Source, "needs": b.Needs} {
			if text == "" {
				t.Errorf("%s: no %s", b.Name, field)
			}
		}
		if n := strings.Count(b.Rule, ".") + strings.Count(b.Rule, ":"); n > 0 && !strings.HasSuffix(b.Rule, ".") {
			t.Errorf("%s: rule %q, want sentences", b.Name, b.Rule)
		}
		for _, o := range b.Options() {
			if o.About == "" || o.Values == "" || o.Source == "" {
				t.Errorf("%s: option %+v, want what it is, its values and where its default comes from", b.Name, o)
			}
		}
	}
}

// TestPoliciesThatAreGone checks that the name of a policy that is gone is refused with what replaces it, and that this exists.
func TestPoliciesThatAreGone(t *testing.T) {
	for name, instead := range missing {
		if instead == "" {
			continue
		}
		if _, err := New(instead); err != nil {
			t.Errorf("in place of %s: %v", name, err)
		}
		for _, full := range []string{name, name + ":x=1", name + MenuSuffix + MoveSuffix, name + LoanSuffix + KnowSuffix} {
			_, err := New(full)
			if err == nil || !strings.Contains(err.Error(), name+" served only experiments of papers, which are now in clustergym-studies; use "+instead) {
				t.Errorf("%s: error %v", full, err)
			}
			if !tested().Known(full) {
				t.Errorf("%s is taken for a folder", full)
			}
		}
	}
}

// TestOptionsThatAreGone checks that an option of which no other value was useful is refused with that reason.
func TestOptionsThatAreGone(t *testing.T) {
	for _, name := range []string{
		"lyra:together=true", "lyra:longest=true", "lyra:loaned=1", "lyra:gather=false", "las:first=1m",
		"fifo+loan:cost=jobs", "fifo+loan:limit=3", "fifo+loan:borrow=needed", "srsf+menu:price=2", "gittins:window=100",
	} {
		if _, err := New(name); err == nil || !strings.Contains(err.Error(), "is gone, because no other value of it was useful") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
