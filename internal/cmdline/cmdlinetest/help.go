// Package cmdlinetest contains a test of the help texts of a program's commands.
package cmdlinetest

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Help checks that every command of a program has an example and exit codes in its help, and that the examples use only its
// flags.
func Help(t *testing.T, root *cobra.Command) {
	t.Helper()
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Long == "" {
			t.Errorf("%s: no help", cmd.CommandPath())
		}
		if !cmd.HasSubCommands() {
			if cmd.Example == "" {
				t.Errorf("%s: no example", cmd.CommandPath())
			}
			if !strings.Contains(cmd.Long, "Exit status:\n  0    done\n") {
				t.Errorf("%s: no exit status", cmd.CommandPath())
			}
		}
		for word := range strings.FieldsSeq(cmd.Example) {
			name, ok := strings.CutPrefix(word, "--")
			name, _, _ = strings.Cut(name, "=")
			if ok && cmd.HasParent() && cmd.Flags().Lookup(name) == nil && root.PersistentFlags().Lookup(name) == nil {
				t.Errorf("%s: the example has --%s, which the command lacks", cmd.CommandPath(), name)
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(root)
}
