package flags

import (
	"context"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

type inner struct {
	Wait time.Duration `flag:"wait" default:"2s" min:"1s" help:"how long to wait"`
}

type every struct {
	inner
	Name  string   `flag:"name,n" required:"true" help:"a name"`
	Kind  string   `flag:"kind" default:"red" of:"colours" help:"a colour"`
	Kinds []string `flag:"kinds" default:"red,blue" of:"colours" help:"colours"`
	Sets  []string `flag:"set" keys:"colours" help:"settings"`
	Count int      `flag:"count" min:"0" help:"how many"`
	Seed  uint64   `flag:"seed" default:"7" help:"a seed"`
	Share float64  `flag:"share" default:"0.5" help:"a share"`
	Big   int64    `flag:"big" help:"a number"`
	Loud  bool     `flag:"loud" help:"say more"`
	own   int
}

var colours = Words{"colours": func() []string { return []string{"red", "blue"} }}

// called runs a command line of a command with all kinds of flags, and returns what they are then.
func called(t *testing.T, args ...string) (*cobra.Command, *every, error) {
	t.Helper()
	opts := &every{Big: 3}
	cmd := Command(&cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true}, opts, colours,
		func(context.Context, *every, []string) error { return nil })
	cmd.SetArgs(args)
	return cmd, opts, cmd.ExecuteContext(t.Context())
}

func TestFieldsBecomeFlags(t *testing.T) {
	cmd, got, err := called(t, "-n", "x", "--set", "red=1,2", "--set", "blue=3", "--kinds", "blue", "--wait", "3s")
	want := &every{inner{3 * time.Second}, "x", "red", []string{"blue"}, []string{"red=1,2", "blue=3"}, 0, 7, 0.5, 3, false, 0}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, error %v, want %+v", got, err, want)
	}
	for _, part := range []string{`-n, --name string`, `how long to wait (default 2s)`, `(default [red,blue])`, `(default "red")`,
		`(default 7)`, `(default 3)`} {
		if help := cmd.Flags().FlagUsages(); !strings.Contains(help, part) {
			t.Errorf("no %q in\n%s", part, help)
		}
	}
	if _, got, err := called(t, "-n", "x"); err != nil || !slices.Equal(got.Kinds, []string{"red", "blue"}) {
		t.Errorf("%+v, error %v", got, err)
	}
}

// TestTagsLimitValues checks what a command says of values that the tags do not allow.
func TestTagsLimitValues(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", `required flag(s) "name" not set`},
		{"-n x --kind rd", `--kind "rd": did you mean "red"?`},
		{"-n x --kinds red,green", `--kinds "green": want one of red, blue`},
		{"-n x --count -1", "--count -1: want 0 or more"},
		{"-n x --wait 5ms", "--wait 5ms: want at least 1s"},
		{"-n x more", `unknown command "more" for "x"`},
	} {
		if _, _, err := called(t, strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
}

// TestShellsCompleteWords checks the completions of a list of words, of a word and of a setting.
func TestShellsCompleteWords(t *testing.T) {
	for _, c := range []struct{ flag, typed, want string }{
		{"--kind", "", "red\nblue\n"}, {"--kinds", "red,", "red,blue\n"}, {"--set", "b", "blue=\n"},
	} {
		cmd := Command(&cobra.Command{Use: "x"}, &every{}, colours, func(context.Context, *every, []string) error { return nil })
		var out strings.Builder
		cmd.SetOut(&out)
		cmd.SetErr(io.Discard)
		cmd.SetArgs([]string{"__complete", c.flag, c.typed})
		if err := cmd.Execute(); err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s %q: %q, error %v, want %q", c.flag, c.typed, out.String(), err, c.want)
		}
	}
}
