package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/game"
)

const playHelp = `  empty     name what the policy would, marked >
  NUMBER    all servers of that candidate name it, the others pass
  p, 0      pass
  s N       let the policy play N rounds
  t TIME    let the policy play until a simulated time, such as 2h30m
  q         quit: the episode ends here
`

// longestAnswer is the longest line in bytes that the user may enter.
const longestAnswer = 4096

// order is what the user wants to do in a round.
type order struct {
	own    bool        // name what the policy names
	number game.Action // otherwise name this candidate
	quit   bool
	skip   func(p *envPlay) func() bool // returns a function that reports whether to skip further; nil for no skip
}

// asker reads the user's answers, line by line.
type asker struct {
	lines chan string
	err   error // why lines was closed, nil at the end of input; read it after lines is closed
}

// newAsker returns an asker that reads until ctx is done. A read in progress then stays blocked.
func newAsker(ctx context.Context, in io.Reader) *asker {
	k := &asker{lines: make(chan string)}
	go func() {
		defer close(k.lines)
		scan := bufio.NewScanner(in)
		scan.Buffer(nil, longestAnswer)
		for scan.Scan() {
			select {
			case k.lines <- scan.Text():
			case <-ctx.Done():
				return
			}
		}
		if err := scan.Err(); err != nil {
			k.err = fmt.Errorf("read what to name: %w", err)
		}
	}()
	return k
}

// order asks the user what to do in a round until the answer is valid. The end of the input means quit.
func (k *asker) order(ctx context.Context, a *app, r *playRound) (order, error) {
	for {
		if !a.Quiet {
			_, _ = fmt.Fprintf(a.Talk, "what to name (? for help): ") // an error here does not matter, as in Say
		}
		select {
		case <-ctx.Done():
			a.Say("") // ends the line of the question
			return order{}, ctx.Err()
		case line, ok := <-k.lines:
			if !ok {
				a.Say("")
				return order{quit: true}, cmp.Or(ctx.Err(), k.err)
			}
			if line = strings.TrimSpace(line); line == "?" {
				_, _ = fmt.Fprint(a.Talk, playHelp) // an error here does not matter, as in Say
				continue
			}
			o, err := readOrder(line, r)
			if err == nil {
				return o, nil
			}
			a.Warn(err)
		}
	}
}

// readOrder parses an answer.
func readOrder(line string, r *playRound) (order, error) {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case line == "":
		return order{own: true}, nil
	case line == "p":
		return order{number: game.Pass}, nil
	case line == "q":
		return order{quit: true}, nil
	case word == "s":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 {
			return order{}, fmt.Errorf("%q: want how many rounds to skip, 1 or more, such as s 10", line)
		}
		return order{skip: func(p *envPlay) func() bool {
			until := p.round + n
			return func() bool { return p.round < until }
		}}, nil
	case word == "t":
		until, err := time.ParseDuration(rest)
		if err != nil || until.Seconds() <= r.Now {
			return order{}, fmt.Errorf("%q: want a simulated time after %s, such as t %s", line, clock(r.Now),
				clock(r.Now+3600))
		}
		return order{skip: func(p *envPlay) func() bool {
			return func() bool { return p.ts.Now < until }
		}}, nil
	}
	n, err := strconv.Atoi(line)
	if err != nil {
		return order{}, fmt.Errorf("%q: want a number, p, s, t or q, or ? for help", line)
	}
	if n != int(game.Pass) && !r.names(n) {
		return order{}, fmt.Errorf("%d: want one of %s, or 0 to pass", n, r.numbers())
	}
	return order{number: game.Action(n)}, nil
}

// names reports whether candidate n can be named.
func (r *playRound) names(n int) bool {
	return n >= 1 && n <= len(r.Candidates) && !r.Candidates[n-1].Gone
}

// numbers returns the numbers of the candidates that can be named, as text.
func (r *playRound) numbers() string {
	var all []int
	for n := range len(r.Candidates) + 1 {
		if r.names(n) {
			all = append(all, n)
		}
	}
	return ranges(all)
}
