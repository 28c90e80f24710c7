package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// legend assigns letters to the jobs that held most GPU-time in any schedule, as many as it has space to name. A job gets no
// letter if no cell would show it.
func (d *drawing) legend(logs []*sim.Log, seen map[string]bool, y int) {
	d.letter = map[string]rune{}
	x, end := len("jobs: "), y+legendLines
	for i, name := range largest(logs, seen) {
		text := " " + name.name + " " + name.gpus
		n := 1 + utf8.RuneCountInString(text)
		if x+n > d.Width {
			x, y = len("jobs: "), y+1
		}
		if y == end || x+n > d.Width {
			return
		}
		if i == 0 {
			d.text(0, y, d.Width, "jobs:")
		}
		letter := rune('A' + i)
		d.letter[name.name] = letter
		d.canvas.put(x, y, glyph{r: letter, fg: black, bg: d.colour(name.name)})
		d.text(x+1, y, d.Width, text)
		x += n + 3
	}
}

type named struct {
	name, gpus string
	held       float64
}

// largest returns up to 26 of the jobs in seen, in descending order of GPU-time; for each job, the schedule in which it held most
// counts.
func largest(logs []*sim.Log, seen map[string]bool) []named {
	place := map[string]int{}
	var all []named
	for _, log := range logs {
		held := make([]float64, len(all), len(all)+len(log.Jobs))
		for id, stays := range eval.Stays(log) {
			j := &log.Jobs[id]
			sum := 0.0
			for _, s := range stays {
				sum += float64(s.To-s.From) * float64(log.Placement(s.Record).GPUMilli())
			}
			if !seen[j.Name] {
				continue
			}
			i, known := place[j.Name]
			if !known {
				i = len(all)
				place[j.Name] = i
				all, held = append(all, named{name: j.Name, gpus: gpus(j.GPUs())}), append(held, 0)
			}
			held[i] += sum
		}
		for i := range all {
			all[i].held = max(all[i].held, held[i])
		}
	}
	slices.SortStableFunc(all, func(a, b named) int { return cmp.Compare(b.held, a.held) })
	return all[:min(len(all), 26)]
}

func gpus(n float64) string {
	if n == 1 {
		return "(1 GPU)"
	}
	return "(" + strconv.FormatFloat(n, 'g', 4, 64) + " GPUs)"
}

// axis draws round times below the last schedule.
func (d *drawing) axis(y int) {
	columns := d.Width - d.left
	d.canvas.put(d.left-1, y, glyph{r: d.glyphs.corner})
	for x := d.left; x < d.Width; x++ {
		d.canvas.put(x, y, glyph{r: d.glyphs.rule})
	}
	step := stepFor(d.until, max(2, columns/10))
	for at := time.Duration(0); at < d.until; at += step {
		x, label := d.left+int(float64(at)/float64(d.until)*float64(columns)), inUnit(at, step)
		if x+len(label) > d.Width {
			break
		}
		d.canvas.put(x, y, glyph{r: d.glyphs.tick})
		d.text(x, y+1, d.Width, label)
		if at > d.until-step { // the next would overflow
			break
		}
	}
}

const day = 24 * time.Hour

// stepFor returns a round step that divides until into no more parts than the parameter most.
func stepFor(until time.Duration, most int) time.Duration {
	fits := func(step time.Duration) bool { return until/time.Duration(most) <= step }
	for unit := time.Nanosecond; unit < time.Second; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if fits(n * unit) {
				return n * unit
			}
		}
	}
	for _, s := range []time.Duration{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600} {
		if fits(s * time.Second) {
			return s * time.Second
		}
	}
	for unit := day; unit <= 10_000*day; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if fits(n * unit) {
				return n * unit
			}
		}
	}
	return 100_000 * day
}

// inUnit formats a multiple of a step in the largest unit in which all multiples are whole numbers.
func inUnit(at, step time.Duration) string {
	if at == 0 {
		return "0"
	}
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"d", day}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}} {
		if step%u.size == 0 {
			return fmt.Sprintf("%d%s", at/u.size, u.name)
		}
	}
	return at.String()
}

// short formats a time with three significant digits in its largest unit.
func short(t time.Duration) string {
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"d", day}, {"h", time.Hour}, {"min", time.Minute}} {
		if t >= 2*u.size {
			return strconv.FormatFloat(float64(t)/float64(u.size), 'g', 3, 64) + u.name
		}
	}
	return strconv.FormatFloat(t.Seconds(), 'g', 3, 64) + "s"
}
