package cmdline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/internal/names"
)

// Main runs the command line that the process was started with, and ends the process.
func Main(run func(ctx context.Context, a App, args []string) int) {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, release) // the first signal ends the unit in work, the second the process
	os.Exit(run(ctx, New(os.Stdin, os.Stdout, os.Stderr), os.Args[1:]))
}

// NewRoot returns the root of a program's commands, with the global flags.
func NewRoot(a *App, name, short, long string) *cobra.Command {
	root := NewGroup(name, short, long)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "print the result, and errors, as JSON")
	root.PersistentFlags().BoolVarP(&a.Quiet, "quiet", "q", false, "print no talk and no progress")
	return root
}

// Run executes one command line of an App that New returned, prints the error that it ends with, and returns the exit code. code
// returns that of an error to which Fail has given none.
func (a *App) Run(ctx context.Context, root *cobra.Command, args []string, code func(error) int) int {
	err := a.execute(ctx, root, args)
	if err == nil {
		err = a.out.err
	}
	if err == nil {
		return CodeOK
	}
	n := CodeError
	var own *exitError
	switch {
	case errors.As(err, &own):
		n = own.code
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		n = CodeInterrupted
		err = fmt.Errorf("interrupted: %w", err)
	case code != nil:
		n = code(err)
	}
	if a.JSON || slices.Contains(args, "--json") { // the flags may not have been read so far
		_ = json.NewEncoder(a.Talk).Encode(errorJSON{Error: err.Error(), Code: n})
		return n
	}
	_, _ = fmt.Fprintf(a.Talk, "%s: %s\n", root.Name(), names.Escape(err.Error())) // it may quote what a file holds
	return n
}

// errorJSON is an error under --json, on standard error.
type errorJSON struct {
	Error string `json:"error"`
	Code  int    `json:"code"`
}

// execute runs a command line. An error before the command proper begins is one of usage.
func (a *App) execute(ctx context.Context, root *cobra.Command, args []string) error {
	began := false
	wrap(root, &began)
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Talk)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !began {
		return Fail(CodeUsage, fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath()))
	}
	return err
}

// wrap notes when a command of the tree begins.
func wrap(cmd *cobra.Command, began *bool) {
	if inner := cmd.RunE; inner != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			*began = true
			return inner(c, args)
		}
	}
	for _, sub := range cmd.Commands() {
		wrap(sub, began)
	}
}

// NewGroup returns a command that only holds others.
func NewGroup(use, short, long string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
		return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), DidYouMean(args[0], names))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(subs...)
	return cmd
}
