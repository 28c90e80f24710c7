package baselines

import (
	"strings"
	"testing"
)

// TestNew checks that a scheduler's Name is the name with options and suffixes by which it was made, and that New rejects what
// does not fit with a reason.
func TestNew(t *testing.T) {
	for _, name := range []string{
		"fifo", "sjfhold:times=3", "srtf+menu", "sjfskip+loan", "las:place=bestfit+loan", "sjfhold:times=3:place=bestfit+menu+loan",
		"lyra+move", "srsf+menu:wait=false+move:saves=1h+loan",
	} {
		s, err := New(name)
		if err != nil || s.Name() != name {
			t.Errorf("%s: %v, %v", name, s, err)
		}
		if !Known(name) {
			t.Errorf("%s is not known", name)
		}
	}
	for name, want := range map[string]string{
		"lifo":              `policy "lifo": no such baseline, want one of fifo, fjf`,
		"":                  `policy "": no such baseline`,
		"fifo:speed=1":      `policy "fifo:speed=1": no option "speed", want one of backfill, place`,
		"sjfhold:times=-1":  `option times: "-1", want a number from 0 to 1e+06`,
		"fifo+loan+menu":    "no such baseline",
		"fifo+loan:all=1":   `+loan: no option "all"`,
		"fifo+menu:all=1":   `+menu: no option "all"`,
		"lyra+menu":         "it chooses amounts itself, want +menu behind an order of jobs",
		"fifo+move:all=1":   `+move: no option "all"`,
		"fifo+move+menu":    "no such baseline",
		"fifo+lend":         `no such baseline`,
		"sjfhold:times=3:x": "option",
	} {
		if _, err := New(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", name, err, want)
		}
	}
}

// TestDescriptions checks that every baseline and each of its options has a description.
func TestDescriptions(t *testing.T) {
	all := All()
	for _, suffix := range []string{LoanSuffix, MenuSuffix, MoveSuffix, KnowSuffix} {
		b, ok := Describe(suffix)
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
	for name, instead := range gone {
		if _, err := New(instead); err != nil {
			t.Errorf("in place of %s: %v", name, err)
		}
		for _, full := range []string{name, name + ":x=1", name + MenuSuffix + MoveSuffix, name + LoanSuffix + KnowSuffix} {
			_, err := New(full)
			if err == nil || !strings.Contains(err.Error(), name+" served only experiments of papers, which are now in clustergym-studies; use "+instead) {
				t.Errorf("%s: error %v", full, err)
			}
			if !Known(full) {
				t.Errorf("%s is taken for a folder", full)
			}
		}
	}
}

// TestOptionsThatAreGone checks that an option of which no other value was useful is refused with that reason.
func TestOptionsThatAreGone(t *testing.T) {
	for _, name := range []string{
		"lyra:together=true", "lyra:longest=true", "lyra:loaned=1", "pollux:floor=1", "pollux:mutations=0.1", "pollux:scaling=linear",
		"fifo+loan:cost=jobs", "fifo+loan:limit=3", "fifo+loan:borrow=needed", "srsf+menu:price=2", "lyra:gather=false", "pollux:power=-2", "srtf:gain=1", "las:first=1m",
		"gavel:aware=false", "gittins:window=100",
	} {
		if _, err := New(name); err == nil || !strings.Contains(err.Error(), "is gone, because no other value of it was useful") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
