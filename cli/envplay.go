package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
)

// envPlayOptions select the episode to watch, its player, and how it is shown.
type envPlayOptions struct {
	episodeOptions
	Policy string `flag:"policy" default:"prior" complete:"player" help:"the policy that plays: prior, random, a baseline, released, or the folder of a policy or run"`
	Skip   int    `flag:"skip" min:"0" help:"how many rounds to play before the first one that is shown"`
	Rounds int    `flag:"rounds" min:"0" help:"how many rounds to show, 0 for all"`
	Ask    bool   `flag:"ask" help:"read the choice of each round from standard input"`

	changed func(flag string) bool // whether the user gave a flag
}

func newEnvPlayCmd(a *app) *cobra.Command {
	opts := &envPlayOptions{}
	cmd := newCommand(a, opts, &cobra.Command{
		Use:   "play --scenario S",
		Short: "Watch an episode round by round, or choose by hand",
		Long: cmdline.Long(`
Plays one episode and prints every round: the candidates, which candidate each server names, which are carried out or
refused, and what has changed by the next round. --policy selects who plays: prior names what the prior would do, a baseline
such as fifo is such a prior, random draws a legal action, and a learned policy shows its bids. A learned policy brings its own
prior, window and encoder.

With --ask you choose: an empty line names what the policy would, a number names that candidate, and ? lists the other inputs.
With --json every round is one line with one JSON object; --ask then draws the rounds on standard error.`,
			cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym env play --scenario embedded-small-v1 --ask
  clustergym env play --scenario embedded-small-v1 --policy released --skip 20
  clustergym env play --scenario embedded-small-v1 --policy random --rounds 10 --json`,
	}, runEnvPlay)
	opts.changed = cmd.Flags().Changed
	return cmd
}

// envPlay is an episode that the user watches.
type envPlay struct {
	cmdline.App // which draws the rounds
	env         *env.Cluster
	player      *envPlayer
	ts          env.TimeStep
	joint       []game.Action
	round       int // number of rounds played
	told        int // number of log records that were shown
	sum         float64
}

func runEnvPlay(ctx context.Context, a *app, o *envPlayOptions, _ []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := openPlay(a, o)
	if err != nil {
		return err
	}
	defer p.env.Close()
	var answers <-chan string
	if o.Ask {
		answers = readLines(ctx, a.In)
	}
	for begin, until := 0, o.Skip; !p.ts.Over() && (o.Rounds == 0 || p.round < until+o.Rounds); {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := p.look()
		if err != nil {
			return err
		}
		skips := p.round < until
		if !skips {
			if err := p.draw(r); err != nil {
				return err
			}
		}
		if !skips && o.Ask {
			skip, quit, err := p.ask(ctx, a, answers, r)
			if err != nil {
				return err
			}
			if quit {
				break
			}
			if skips = skip > 0; skips {
				begin, until, o.Rounds = p.round, p.round+skip, max(0, o.Rounds-p.round+until)
			}
		}
		if err := p.carryOut(r); err != nil {
			return err
		}
		switch {
		case skips && (p.ts.Over() || p.round == until):
			p.say("\n%s skipped, until %s", phrase.Count(p.round-begin, "round"), clock(p.ts.Now.Seconds()))
		case skips:
		default:
			p.drawOutcome(r)
			if a.JSON {
				if err := writeLine(a.Out, r); err != nil {
					return err
				}
			}
		}
	}
	p.drawEnd()
	return nil
}

// openPlay starts the episode.
func openPlay(a *app, o *envPlayOptions) (*envPlay, error) {
	player, play, err := o.player(a)
	if err != nil {
		return nil, err
	}
	src, err := o.open()
	if err != nil {
		return nil, err
	}
	cfg, err := o.dealt(src, scenario.Split(o.Split))
	if err != nil {
		return nil, err
	}
	cfg.Game = play
	e, err := env.New(cfg)
	if err != nil {
		return nil, err
	}
	p := &envPlay{App: a.App, env: e, player: player, joint: make([]game.Action, e.Spec().Agents)}
	if a.JSON {
		if p.Out = io.Discard; o.Ask && !a.Quiet {
			p.Out = a.Talk
		}
	}
	if err := cmp.Or(player.Reset(o.Seed), e.Reset(o.Seed, &p.ts)); err != nil {
		return nil, err
	}
	p.told = len(e.Log().Records)
	p.say("%s, %s, seed %d: %s plays on %d servers, the prior is %s%s", o.Scenario.Name, o.Split, o.Seed,
		player.Name(), e.Spec().Agents, player.prior, player.rule)
	return p, nil
}

// readLines returns the lines of an input, until it or ctx ends. A read in progress then stays blocked.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scan := bufio.NewScanner(in); scan.Scan(); {
			select {
			case lines <- strings.TrimSpace(scan.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

const playHelp = `  empty     name what the policy would, marked >
  NUMBER    all servers of that candidate name it, the others pass
  0         pass
  s N       let the policy play N rounds
  q         quit: the episode ends here
`

// ask asks the user what to do in a round until the answer is valid: how many rounds to skip, whether to quit, or else what to
// name. The end of the input means quit.
func (p *envPlay) ask(ctx context.Context, a *app, answers <-chan string, r *playRound) (skip int, quit bool, err error) {
	for {
		if !a.Quiet {
			_, _ = fmt.Fprint(a.Talk, "what to name (? for help): ") // an error here does not matter, as in Say
		}
		select {
		case <-ctx.Done():
			a.Say("") // ends the line of the question
			return 0, false, ctx.Err()
		case answer, more := <-answers:
			word, rest, _ := strings.Cut(answer, " ")
			n, err := strconv.Atoi(cmp.Or(rest, word))
			switch {
			case !more, word == "q":
				return 0, true, nil
			case answer == "":
				return 0, false, nil
			case word == "s" && err == nil && n > 0:
				return n, false, nil
			case word != "s" && err == nil && (n == 0 || slices.Contains(r.open(), n)):
				p.ts.Unanimous(game.Action(n), p.joint)
				r.By, r.Named = "hand", whoNames(p.joint)
				return 0, false, nil
			case answer == "?":
				_, _ = fmt.Fprint(a.Talk, playHelp) // an error here does not matter, as in Say
			default:
				a.Warn(fmt.Errorf("%q: want one of %s, 0 to pass, s and how many rounds to skip, such as s 10, or q; ? for help",
					answer, ranges(r.open())))
			}
		}
	}
}

// writeLine writes a value as one line of JSON.
func writeLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
