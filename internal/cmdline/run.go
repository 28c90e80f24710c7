package cmdline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/internal/names"
)

// Main calls run with the process's command line, and exits the process with the code that run returns.
func Main(run func(ctx context.Context, a App, args []string) int) {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, release) // the first signal cancels ctx so that work in progress can finish, the second ends the process
	os.Exit(run(ctx, New(os.Stdin, os.Stdout, os.Stderr), os.Args[1:]))
}

// NewRoot returns the root command of a program, with the global flags.
func NewRoot(a *App, name, short, long string) *cobra.Command {
	root := NewGroup(name, short, long)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "print the result, and errors, as JSON")
	root.PersistentFlags().BoolVarP(&a.Quiet, "quiet", "q", false, "print no talk and no progress")
	return root
}

// Run executes one command line of an App from New, prints the error that it ends with, and returns the exit code. The function
// code returns the exit code of an error that Fail has not wrapped; it may be nil.
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
		err = interrupted(err, ctx.Err())
	case code != nil:
		n = code(err)
	}
	if a.JSON || slices.Contains(args, "--json") { // flags may not have been parsed yet
		_ = json.NewEncoder(a.Talk).Encode(errorJSON{Error: err.Error(), Code: n})
		return n
	}
	_, _ = fmt.Fprintf(a.Talk, "%s: %s\n", root.Name(), names.Escape(err.Error())) // err may quote a file's content
	return n
}

// interrupted says that a command was interrupted, without the text of the context's error.
func interrupted(err, cause error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), cause.Error()), "; ")
	if text == "" {
		return errors.New("interrupted")
	}
	return errors.New("interrupted: " + text)
}

// errorJSON is the form of an error with --json, on standard error.
type errorJSON struct {
	Error string `json:"error"`
	Code  int    `json:"code"`
}

// execute runs a command line. An error before the command itself begins is a usage error.
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

// wrap makes every command of the tree set began when it begins.
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

// NewGroup returns a command that does nothing but contain other commands.
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
