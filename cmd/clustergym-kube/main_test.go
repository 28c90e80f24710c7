package main

import (
	"strings"
	"testing"
)

// TestExitCodes checks that errors in the flags, found before the program starts its work, and later errors have different exit
// codes.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"an unknown flag", []string{"--mod=live"}, codeUsage, "unknown flag: --mod"},
		{"an argument", []string{"live"}, codeUsage, `"live"`},
		{"an unknown mode", []string{"--mode=off"}, codeUsage, `--mode "off", want shadow or live`},
		{"a lease in shadow mode", []string{"--leader-elect"}, codeUsage, "want --mode live with it"},
		{"no scheduler", []string{"--schedulers="}, codeUsage, "--schedulers"},
		{"no time to decide", []string{"--deadline=0"}, codeUsage, "--deadline 0s"},
		{"an unknown policy", []string{"--policy=best"}, codeFailed, `"best"`},
		{"no key", []string{"--verify-key=none.pem"}, codeFailed, "none.pem"},
		{"no cluster", []string{"--policy=fifo", "--kubeconfig=none"}, codeFailed, "connect to the cluster"},
	} {
		var talk strings.Builder
		if code := run(t.Context(), c.args, &talk); code != c.code || !strings.Contains(talk.String(), c.says) {
			t.Errorf("%s: exit code %d, %q; want %d and %q", c.name, code, talk.String(), c.code, c.says)
		}
	}
}
