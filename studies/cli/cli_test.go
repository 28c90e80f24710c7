package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/cmdline/cmdlinetest"
)

// said is the result of a command line: exit code, standard output and standard error.
type said struct {
	code      int
	out, talk string
}

func command(t *testing.T, args ...string) said {
	t.Helper()
	return commandWith(t.Context(), args...)
}

func commandWith(ctx context.Context, args ...string) said {
	var out, talk bytes.Buffer
	code := run(ctx, cmdline.New(strings.NewReader(""), &out, &talk), args)
	return said{code, out.String(), talk.String()}
}

// must runs a command line that has to succeed; otherwise the test fails.
func must(t *testing.T, args ...string) said {
	t.Helper()
	s := command(t, args...)
	if s.code != cmdline.CodeOK {
		t.Fatalf("clustergym-studies %s: exit code %d\n%s", strings.Join(args, " "), s.code, s.talk)
	}
	return s
}

func TestHelpIsComplete(t *testing.T) {
	_, root := newRoot(cmdline.App{})
	cmdlinetest.Help(t, root)
}
