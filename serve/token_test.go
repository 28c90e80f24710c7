package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/serve"
)

// TestReadToken checks that an empty token file is an error, and never means that no token is needed.
func TestReadToken(t *testing.T) {
	for _, c := range []struct{ text, want, says string }{
		{"0123456789abcdef\n", "0123456789abcdef", ""}, {"", "", "is empty"}, {" \n", "", "is empty"},
	} {
		path := filepath.Join(t.TempDir(), "token")
		must.Do(t, os.WriteFile(path, []byte(c.text), 0o600))
		got, err := serve.ReadToken(path)
		if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %q, %v; want %q, %q", c.text, got, err, c.want, c.says)
		}
	}
	if token, err := serve.ReadToken(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Errorf("token %q of a file that is not there", token)
	}
}
