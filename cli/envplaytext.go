package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval/console"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/table"
)

// Limits of what is drawn of a round.
const (
	playWidth   = 80 // columns of a line
	playServers = 12 // columns for the servers of a candidate
	playBid     = 8  // columns for a bid
	playItems   = 8  // changes of one kind that are listed by name
)

// playScreen draws rounds. A long name never makes a line longer than playWidth, and only printable text reaches the terminal.
type playScreen struct {
	to    io.Writer
	ascii bool
}

// say writes a text wrapped into lines, each indented as the start of the text.
func (v playScreen) say(format string, args ...any) {
	text := console.Plain(fmt.Sprintf(format, args...), v.ascii)
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	for _, line := range folded(text, playWidth-len(indent)) {
		v.write(indent + line)
	}
}

// folded wraps a text between words into lines of at most width runes. The lines after the first begin with two blanks. Longer
// words are cut.
func folded(text string, width int) []string {
	var lines []string
	for i, word := range strings.Fields(text) {
		word = cut(word, width-2)
		last := len(lines) - 1
		switch {
		case i == 0:
			lines = append(lines, word)
		case runes(lines[last])+1+runes(word) <= width:
			lines[last] += " " + word
		default:
			lines = append(lines, "  "+word)
		}
	}
	return lines
}

// write writes a line. Standard output keeps its first error; on standard error an error does not matter.
func (v playScreen) write(line string) { _, _ = fmt.Fprintln(v.to, line) }

// round draws a round before it is played.
func (v playScreen) round(r *playRound) {
	v.write("")
	v.say("round %d at %s: %d waiting, %d running, %d of %d GPUs free", r.Round, clock(r.Now), r.Waiting, r.Running, r.Free, r.GPUs)
	rows := [][]string{{"", "kind", "what it does", "servers", "bid", ""}}
	gone := 0
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if c.Gone {
			gone++
			continue
		}
		rows = append(rows, v.row(r, c))
	}
	var b strings.Builder
	table.Text(&b, 4, narrow(rows))
	_, _ = io.WriteString(v.to, b.String()) // as with write
	if gone > 0 {
		v.say("%s more that can no longer be carried out", phrase.Count(gone, "candidate"))
	}
	if r.LeftToPrior {
		v.say("the policy leaves the choice to the prior: it is out of distribution, beyond what training met")
	}
}

func (v playScreen) row(r *playRound, c *playCandidate) []string {
	mark, prior, bid := " ", "", ""
	passing := len(r.Named) == 0 && c.Number == 1 && len(c.Coalition) == 0 // if all pass, a prior's choice without servers wins
	if passing || slices.ContainsFunc(r.Named, func(n playNamed) bool { return n.Number == c.Number }) {
		mark = ">"
	}
	if c.Number == r.Prior {
		prior = "prior"
	}
	if c.Bid != nil {
		bid = fmt.Sprintf("%.2f", *c.Bid)
		if len(bid) > playBid {
			bid = fmt.Sprintf("%.2g", *c.Bid)
		}
	}
	var agents []int
	for _, m := range c.Coalition {
		agents = append(agents, int(m.Agent))
	}
	return []string{
		fmt.Sprintf("%s%3d", mark, c.Number), c.Kind, console.Plain(c.Does, v.ascii), cut(ranges(agents), playServers), bid, prior,
	}
}

// narrow makes rows fit the width: the description of a candidate may take a second row, and is cut there. It removes the column
// of bids if there are no bids.
func narrow(rows [][]string) (all [][]string) {
	const action, bid = 2, 4
	if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[bid] != "" }) {
		for i := range rows {
			rows[i] = slices.Delete(rows[i], bid, bid+1)
		}
	}
	room := playWidth
	for column := range rows[0] {
		width := 0
		for _, row := range rows {
			width = max(width, runes(row[column]))
		}
		if column != action {
			room -= width + 2
		}
	}
	for _, row := range rows {
		lines := folded(row[action], room)
		row[action] = lines[0]
		if all = append(all, row); len(lines) > 1 {
			more := make([]string, len(row))
			more[action] = cut("  "+strings.Join(strings.Fields(strings.Join(lines[1:], "")), " "), room)
			all = append(all, more)
		}
	}
	return all
}

// outcome writes who named what in a round, and the result.
func (v playScreen) outcome(r *playRound) {
	var named []string
	agents := 0
	for _, n := range r.Named {
		agents += len(n.Agents)
		named = append(named, fmt.Sprintf("%s %d", subject(n.Agents), n.Number))
	}
	switch agents {
	case 0:
		named = append(named, "all servers pass")
	case r.agents:
	default:
		named = append(named, "the others pass")
	}
	v.say("%s: %s", r.By, strings.Join(named, "; "))
	for _, x := range r.Refused {
		v.say("refused %d: %s", x.Number, x.Reason)
	}
	if len(r.Carried) > 0 {
		v.say("carried out: %s", strings.Trim(fmt.Sprint(r.Carried), "[]"))
	} else {
		v.say("nothing is carried out")
	}
	if r.Elapsed == 0 && len(r.Changes) == 0 {
		v.say("the same instant goes on")
		return
	}
	v.say("%s later, reward %.4g:", phrase.Seconds(r.Elapsed), r.Reward)
	v.changes(r.Changes)
}

// subject returns the subject and the verb of a sentence about the agents that name something.
func subject(agents []int) string {
	if len(agents) == 1 {
		return fmt.Sprintf("server %d names", agents[0])
	}
	return fmt.Sprintf("servers %s name", ranges(agents))
}

func (v playScreen) changes(all []playChange) {
	if len(all) == 0 {
		v.say("  nothing has changed")
	}
	for _, h := range happened {
		var items []string
		count := 0
		for i := range all {
			if c := &all[i]; c.kind == h.kind {
				if count++; count <= playItems {
					items = append(items, c.item())
				}
			}
		}
		switch {
		case h.kind == sim.Need:
			items = []string{fmt.Sprint(count)}
		case count > playItems:
			items = append(items, fmt.Sprintf("and %d more", count-playItems))
		}
		if count > 0 {
			v.say("  %s: %s", h.text, strings.Join(items, "; "))
		}
	}
}

// item returns the job and the servers of a change as text.
func (c *playChange) item() string {
	servers := phrase.Few(c.Servers)
	switch {
	case c.Job == "":
		return servers
	case servers == "":
		return c.Job
	}
	return c.Job + " on " + servers
}

// skipped writes a summary of rounds that were not shown.
func (v playScreen) skipped(p *envPlay, rounds int, counts map[sim.Kind]int) {
	var parts []string
	for _, h := range happened {
		if n := counts[h.kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, h.text))
		}
	}
	v.write("")
	v.say("%s skipped, until %s: %s", phrase.Count(rounds, "round"), instant(p.ts.Now), strings.Join(parts, ", "))
}

// end writes how the episode ended, or that the user stopped it.
func (v playScreen) end(p *envPlay) {
	how, s := "stopped", p.ts.Cluster
	why := fmt.Sprintf("%d waiting, %d running", len(s.Pending()), len(s.Running()))
	if p.ts.Over() {
		how = "the episode ends"
		if why += ", cut off: " + p.ts.Truncated; p.ts.Terminated {
			why = "every job has finished"
		}
	}
	v.write("")
	v.say("%s at %s after %s, reward %.4g in all: %s", how, instant(p.ts.Now), phrase.Count(p.round, "round"), p.sum, why)
}

func runes(s string) int { return utf8.RuneCountInString(s) }

// cut shortens a text to at most width runes.
func cut(s string, width int) string {
	if runes(s) <= width {
		return s
	}
	return string([]rune(s)[:width-2]) + ".."
}

// ranges writes ascending numbers as ranges: "0-3, 7".
func ranges(all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		last := i
		for last+1 < len(all) && all[last+1] == all[last]+1 {
			last++
		}
		part := fmt.Sprint(all[i])
		if last > i {
			part = fmt.Sprintf("%d-%d", all[i], all[last])
		}
		parts, i = append(parts, part), last+1
	}
	return strings.Join(parts, ", ")
}
