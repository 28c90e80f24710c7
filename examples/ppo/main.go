// Command ppo learns to schedule by PPO in two ways: every server for itself (ippo), or one controller for all (central). Both
// know the environment by its contract alone: rows of numbers, masks, rewards and the time that passes. They learn the toys of
// package envtest, of which the best return is known, and a small cluster under fifo.
//
//	go run ./ppo -env agree -learner ippo
//
// With -agree all a gang starts only if each of its servers names it. Servers that choose for themselves seldom do so by chance:
// of -seed 1 to 10, all ten find the optimum of -env agree-4 with -agree lead, where the lead server's word is enough unless
// another contradicts, and five with -agree all. The other five learn never to name the gang, which gets them as much as the
// prior. For a gang over two servers (-env agree) both will do. The central learner always lets all of a coalition name the same.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
)

func main() {
	name := flag.String("env", "agree", "short-first, agree, agree-4, gather or small")
	who := flag.String("learner", "ippo", "ippo or central")
	agreement := flag.String("agree", "lead", "who must name a candidate: the lead server of its coalition (lead) or all (all)")
	seed := flag.Uint64("seed", 1, "of weights, choices and training episodes")
	updates := flag.Int("updates", 60, "how often to play and learn")
	flag.Parse()
	if err := run(os.Stdout, *name, *who, *agreement, *seed, *updates); err != nil {
		fmt.Fprintln(os.Stderr, "ppo:", err)
		os.Exit(1)
	}
}

// run prints the learning curve, then what the policy gets without drawing.
func run(w io.Writer, name, who, agreement string, seed uint64, updates int) error {
	agree, err := game.ParseAgreement(agreement)
	if err != nil {
		return err
	}
	t, err := find(name, agree)
	if err != nil {
		return err
	}
	e, err := env.New(t.config)
	if err != nil {
		return err
	}
	defer e.Close()
	l, err := newLearner(e, who, t.options, seed)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%6s %9s %12s %16s\n", "update", "episodes", "mean return", "refused a round"); err != nil {
		return err
	}
	for n := range updates {
		p, err := l.update()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%6d %9d %12.2f %16.2f\n", n+1, l.played, p.mean, p.refused); err != nil {
			return err
		}
	}
	return compare(w, l, e, t)
}

// compare prints the return of the likeliest choices beside what it should be held against.
func compare(w io.Writer, l *learner, e env.Env, t task) error {
	greedy, err := l.greedy(t.test)
	if err != nil {
		return err
	}
	prior, err := byPrior(e, t.test)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nmean return in %d test episodes\n%-16s %12.2f\n%-16s %12.2f\n", len(t.test), "likeliest choice",
		greedy, "prior", prior)
	if t.optimum != 0 && err == nil {
		_, err = fmt.Fprintf(w, "%-16s %12.2f\n", "optimum", t.optimum)
	}
	return err
}
