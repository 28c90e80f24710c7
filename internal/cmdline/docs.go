package cmdline

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// NewGenDocs returns the hidden command that writes the command reference of its program.
func NewGenDocs(a *App) *cobra.Command {
	return &cobra.Command{
		Use:     "gen-docs DIR",
		Short:   "Write the command reference",
		Long:    Long("Writes the help of every command as a Markdown page into DIR. Equal programs write equal bytes."),
		Example: "  gen-docs docs/cli",
		Args:    cobra.ExactArgs(1),
		Hidden:  true,
		RunE:    func(cmd *cobra.Command, args []string) error { return runGenDocs(a, cmd.Root(), args[0]) },
	}
}

// runGenDocs writes the pages of a command and of all its subcommands.
func runGenDocs(a *App, cmd *cobra.Command, dir string) error {
	if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
		return nil
	}
	err := a.Write(filepath.Join(dir, pageName(cmd)), func(w io.Writer) error {
		_, err := io.WriteString(w, page(cmd))
		return err
	})
	if err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if err := runGenDocs(a, sub, dir); err != nil {
			return err
		}
	}
	return nil
}

func pageName(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".md"
}

// page returns a command's help in Markdown.
func page(cmd *cobra.Command) string {
	var b strings.Builder
	text, exits, _ := strings.Cut(cmd.Long, "\n\nExit status:\n")
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n", cmd.CommandPath(), cmd.Short)
	block := func(title, code string) {
		if code = strings.Trim(code, "\n"); code != "" {
			fmt.Fprintf(&b, "## %s\n\n```\n%s\n```\n\n", title, code)
		}
	}
	b.WriteString(text + "\n\n")
	if cmd.HasSubCommands() {
		b.WriteString("## Commands\n\n")
		for _, sub := range cmd.Commands() {
			if !sub.Hidden && sub.Name() != "help" && sub.Name() != "completion" {
				fmt.Fprintf(&b, "* [%s](%s) %s\n", sub.CommandPath(), pageName(sub), sub.Short)
			}
		}
		b.WriteString("\n")
	}
	if !cmd.HasSubCommands() || cmd.HasParent() && cmd.HasExample() { // groups that do nothing themselves have no examples
		block("Usage", cmd.UseLine())
	}
	block("Examples", cmd.Example)
	block("Flags", cmd.LocalFlags().FlagUsages())
	block("Global flags", cmd.InheritedFlags().FlagUsages())
	block("Exit status", exits)
	if cmd.HasParent() {
		fmt.Fprintf(&b, "Part of [%s](%s).\n", cmd.Parent().CommandPath(), pageName(cmd.Parent()))
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
