package registry_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/registry"
)

func TestRegistry(t *testing.T) {
	r := registry.New[int]("number").With("two", 2)
	r.Add("one", 1)
	if got, err := r.Get("one"); err != nil || got != 1 {
		t.Errorf("one: %v, %v", got, err)
	}
	if got := r.Names(); !slices.Equal(got, []string{"two", "one"}) {
		t.Errorf("names %q, want them as they were added", got)
	}
	_, err := r.Get("three")
	if want := `number "three" is not part of this program, which has two, one`; err == nil || err.Error() != want {
		t.Errorf("three: %v, want %s", err, want)
	}
}

// TestNames checks that Add refuses a name that the command line could confuse with something else, and a name that is taken.
func TestNames(t *testing.T) {
	for _, name := range []string{"a", "a-srpt", "v1.2_b", "7"} {
		registry.New[int]("number").Add(name, 1)
	}
	for _, name := range []string{"", "A", "a b", "a,b", "a:b", "a+loan", "a=b", "a/b", `a\b`, ".", "..", "-a", "größe", "a\n", "a\x1b"} {
		if said := panics(func() { registry.New[int]("number").Add(name, 1) }); !strings.Contains(said, "want a name of lower-case letters") {
			t.Errorf("%q: %q, want it refused", name, said)
		}
	}
	r := registry.New[int]("number").With("one", 1)
	if said, want := panics(func() { r.Add("one", 2) }), `number "one": the program already has one of that name`; said != want {
		t.Errorf("a second one: %q, want %q", said, want)
	}
	if got, err := r.Get("one"); err != nil || got != 1 {
		t.Errorf("one is %v, %v after a second was refused", got, err)
	}
}

// panics returns the text that f panics with, or "" if it does not panic.
func panics(f func()) (said string) {
	defer func() { said, _ = recover().(string) }()
	f()
	return ""
}
