package names

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for _, s := range []string{"", "job 17", "größe/ü", "מסד", "作业", "a\u00a0b", "👩‍🔬", strings.Repeat("x", Longest)} {
		if !OK(s) || Escape(s) != s {
			t.Errorf("%q is refused, or written %q", s, Escape(s))
		}
	}
	for s, want := range map[string]string{
		"\x1b[2J": `\x1b[2J`, "a\x00b": `a\x00b`, "\u009b2J": `\u009b2J`, "a\rb": `a\rb`, "\x7f": `\x7f`, "\xff": `\xff`,
		"\u202egpj.exe": `\u202egpj.exe`, "\u202ax": `\u202ax`, "\u2066x\u2069": `\u2066x\u2069`, "\u200e": `\u200e`,
		"\u200f": `\u200f`, "\u061c": `\u061c`,
	} {
		want = strings.ReplaceAll(want, `\r`, `\x0d`)
		if OK(s) || Escape(s) != want || !Clean(Escape(s)) {
			t.Errorf("%q is accepted, or written %q, want %q", s, Escape(s), want)
		}
	}
	if OK(strings.Repeat("x", Longest+1)) || !Clean(strings.Repeat("x", Longest+1)) {
		t.Error("a name that is too long is accepted, or a long text is not")
	}
	if OK("a\nb") || OK("a\tb") || Escape("a\nb\tc") != "a\nb\tc" {
		t.Error("line ends and tabs stand in texts and not in names")
	}
}

// FuzzEscape checks that escaped text is clean except for line ends and tabs, and that escaping it again changes nothing.
func FuzzEscape(f *testing.F) {
	f.Add("a\x1b[2J\u202e\xffb\n")
	f.Fuzz(func(t *testing.T, s string) {
		e := Escape(s)
		if !Clean(strings.NewReplacer("\n", "", "\t", "").Replace(e)) || Escape(e) != e || Clean(s) && e != s {
			t.Fatalf("%q is written %q", s, e)
		}
	})
}
