package cli

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
)

// envPlayOptions select the episode to watch, its player, and how it is shown.
type envPlayOptions struct {
	envOptions
	policy  string
	skip    int
	rounds  int
	pause   time.Duration
	ask     bool
	changed func(flag string) bool // whether the user gave a flag
}

func newEnvPlayCmd(a *app) *cobra.Command {
	var opts envPlayOptions
	cmd := &cobra.Command{
		Use:   "play --scenario S",
		Short: "Watch an episode round by round, or choose by hand",
		Long: cmdline.Long(`
Plays one episode and prints every round: the candidates, which candidate each server names, which are carried out or
refused, and what has changed by the next round. --policy selects who plays: prior names what the prior would do, a baseline
such as fifo is such a prior, random draws a legal action, and a learned policy shows its bids. A learned policy brings its own
prior, window and encoder.

On a terminal the command waits after each round: an empty line names what the policy would, a number names that candidate,
and ? lists the other inputs. --ask reads such lines from standard input even if that is not a terminal, until they end.
--pause continues by itself. With --json every round is one line with one JSON object; --ask then draws the rounds on
standard error.`,
			cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym env play --scenario embedded-small-v1
  clustergym env play --scenario embedded-small-v1 --policy released --skip 20 --pause 1s
  clustergym env play --scenario embedded-small-v1 --policy random --rounds 10 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.changed = cmd.Flags().Changed
			return runEnvPlay(cmd.Context(), a, opts)
		},
	}
	opts.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&opts.policy, "policy", policy.Prior,
		"the policy that plays: prior, random, a baseline, released, or the folder of a policy or run")
	f.IntVar(&opts.skip, "skip", 0, "how many rounds to play before the first one that is shown")
	f.IntVar(&opts.rounds, "rounds", 0, "how many rounds to show, 0 for all")
	f.DurationVar(&opts.pause, "pause", 0, "continue without a key press after waiting this long after each round")
	f.BoolVar(&opts.ask, "ask", false, "read the choice of each round from standard input")
	cmd.MarkFlagsMutuallyExclusive("ask", "pause")
	cmdline.Require(cmd, "scenario")
	cmdline.Complete(cmd, "policy", envPlayers)
	return cmd
}

func (o *envPlayOptions) validate() error {
	switch {
	case o.skip < 0:
		return cmdline.Usage("--skip %d: want 0 or more", o.skip)
	case o.rounds < 0:
		return cmdline.Usage("--rounds %d: want 0 for all, or more", o.rounds)
	case o.pause < 0:
		return cmdline.Usage("--pause %v: want 0 or more", o.pause)
	}
	return nil
}

// asks reports whether the command asks the user what to do in each round.
func (o *envPlayOptions) asks(a *app) bool {
	return o.ask || !a.JSON && !o.changed("pause") && isTerminal(a.In) && isTerminal(a.Stdout())
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func runEnvPlay(ctx context.Context, a *app, opts envPlayOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := openPlay(a, &opts)
	if err != nil {
		return err
	}
	defer p.env.Close()
	var ask *asker
	if opts.asks(a) {
		ask = newAsker(ctx, a.In)
	}
	screen := playScreen{to: a.Out, ascii: a.screen(1).ASCII}
	if a.JSON {
		if screen.to = io.Discard; ask != nil && !a.Quiet {
			screen.to = a.Talk
		}
	}
	screen.say("%s", p.about)
	if err := p.skip(ctx, screen, func() bool { return p.round < opts.skip }); err != nil {
		return err
	}
	return p.watch(ctx, a, &opts, screen, ask)
}

// watch shows rounds until the episode ends, the user quits, or --rounds rounds were shown.
func (p *envPlay) watch(ctx context.Context, a *app, opts *envPlayOptions, screen playScreen, ask *asker) error {
	for shown := 0; !p.ts.Over() && (opts.rounds == 0 || shown < opts.rounds); {
		if err := wait(ctx, opts.pause, shown); err != nil {
			return err
		}
		r, err := p.look()
		if err != nil {
			return err
		}
		screen.round(r)
		if ask != nil {
			o, err := ask.order(ctx, a, r)
			switch {
			case err != nil:
				return err
			case o.quit:
				screen.end(p)
				return nil
			case o.skip != nil:
				if err := p.skip(ctx, screen, o.skip(p)); err != nil {
					return err
				}
				continue
			}
			p.choose(r, o)
		}
		if err := p.carryOut(r); err != nil {
			return err
		}
		shown++
		screen.outcome(r)
		if a.JSON {
			if err := writeLine(a.Out, r); err != nil {
				return err
			}
		}
	}
	screen.end(p)
	return nil
}

// wait waits for the time pause between two rounds that are shown. It returns the context's error if the context ends.
func wait(ctx context.Context, pause time.Duration, shown int) error {
	if shown == 0 || pause == 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}
