package objectives

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Describe returns the objective in words, with a drawing of what each term costs as time goes on.
func (o *Objective) Describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, in %s\n", o.Name, o.About, o.Unit)
	if o.Serves != "" {
		fmt.Fprintf(&b, "\n%s\n", wrapped(strings.TrimSpace(o.Serves), 78))
	}
	for i := range o.Terms {
		t := &o.Terms[i]
		fmt.Fprintf(&b, "\n%d. %s\n", i+1, t.String())
		if drawn := t.draw(); drawn != "" {
			b.WriteString("   " + drawn + "\n")
		}
	}
	return b.String()
}

// String returns the term in words.
func (t *Term) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", t.Price, t.Cost)
	if t.Price.Amount == 0 {
		b.Reset()
		b.WriteString(string(t.Cost))
	}
	add := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	if t.First {
		add(", until the job has run for %s", short(settled))
	}
	if t.Over > 0 {
		add(", beyond %s", short(t.Over))
	}
	if t.PerRunTime {
		add(", in run times of the job, taken as %s at least", short(max(t.Floor, time.Second)))
	}
	if t.Power != 1 && t.Power != 0 {
		add(", to the power of %s", number(t.Power))
	}
	if t.Cost == Late {
		switch d := t.Deadline; {
		case d == Deadline{}:
			add(", after the deadline that the trace gives")
		case d.RunTimes == 0:
			add(", after %s from submission", short(d.Plus))
		default:
			add(", after %s run times and %s from submission", number(d.RunTimes), short(d.Plus))
		}
	}
	if t.Miss > 0 {
		add(", and %s once when it passes", number(t.Miss))
	}
	if t.Prices != nil {
		var hours []string
		for _, h := range slices.Sorted(maps.Keys(t.Prices)) {
			hours = append(hours, fmt.Sprintf("%02d:00 x%s", h, number(t.Prices[h])))
		}
		add(", from %s", strings.Join(hours, ", from "))
	}
	if which := t.Jobs.String(); which != "" {
		add("; jobs with %s", which)
	}
	return b.String()
}

// String returns what the selection asks of a job, "" if it selects all.
func (j *Jobs) String() string {
	var parts []string
	for _, r := range []struct {
		what string
		list []Range
		show func(float64) string
	}{
		{"GPUs", j.GPUs, number},
		{"priority", j.Priority, number},
		{"run time", j.RunTime, func(x float64) string { return short(time.Duration(x * float64(time.Second))) }},
	} {
		var texts []string
		for _, x := range r.list {
			texts = append(texts, x.text(r.show))
		}
		if len(texts) > 0 {
			parts = append(parts, r.what+" "+strings.Join(texts, " or "))
		}
	}
	for _, n := range []struct {
		what string
		list []string
	}{{"tenant", j.Tenants}, {"user", j.Users}, {"group", j.Groups}, {"model", j.Models}} {
		if len(n.list) > 0 {
			parts = append(parts, n.what+" "+strings.Join(n.list, " or "))
		}
	}
	if j.Elastic != nil {
		workers := map[bool]string{true: "a number of workers that may change", false: "a fixed number of workers"}
		parts = append(parts, workers[*j.Elastic])
	}
	return strings.Join(parts, ", ")
}

func (r Range) text(show func(float64) string) string {
	switch {
	case math.IsInf(r.From, -1):
		return "up to " + show(r.To)
	case math.IsInf(r.To, 1):
		return "from " + show(r.From)
	case r.From == r.To:
		return show(r.From)
	}
	return show(r.From) + " to " + show(r.To)
}

const columns = 48

// draw returns a line that shows what the term costs: for time, the sum as a job of an hour waits longer; for a tariff, the price
// over a day. It is "" for a term with nothing to draw.
func (t *Term) draw() string {
	const hour = time.Hour
	heights := make([]float64, columns)
	switch {
	case t.Prices != nil:
		tariff := newTariff(t.Prices)
		for i := range heights {
			heights[i] = tariff.at(day * time.Duration(i) / columns)
		}
		return bars(heights) + "  price over a day"
	case t.Cost.kind() != clock:
		return ""
	}
	due := time.Duration(t.Deadline.RunTimes*float64(hour)) + t.Deadline.Plus
	if t.Cost == Late && t.Deadline == (Deadline{}) {
		due = 2 * hour
	}
	span := max(4*hour, 4*t.Over, 2*due)
	for i := range heights {
		x := span * time.Duration(i) / (columns - 1)
		if t.Cost == Late {
			if x > due {
				heights[i] = t.at(hour, x-due) + t.Miss
			}
			continue
		}
		heights[i] = t.at(hour, x)
	}
	what := map[Cost]string{Completion: "after", Wait: "of waiting", Late: "after submission"}[t.Cost]
	return fmt.Sprintf("%s  0 to %s in %s %s", bars(heights), number(heights[columns-1]), short(span), what)
}

// bars draws heights as blocks.
func bars(heights []float64) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	most := slices.Max(heights)
	var b strings.Builder
	for _, h := range heights {
		i := 0
		if most > 0 {
			i = int(math.Round(h / most * float64(len(blocks)-1)))
		}
		b.WriteRune(blocks[i])
	}
	return b.String()
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// short returns a time without units that are zero.
func short(d time.Duration) string {
	if d >= 48*time.Hour && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	text := d.Round(time.Second).String()
	text = strings.TrimSuffix(text, "0s")
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	if text == "" || text[len(text)-1] >= '0' && text[len(text)-1] <= '9' {
		return d.String()
	}
	return text
}

// wrapped breaks text into lines.
func wrapped(text string, width int) string {
	var b strings.Builder
	at := 0
	for w := range strings.FieldsSeq(text) {
		if n := len([]rune(w)); at > 0 && at+1+n > width {
			b.WriteString("\n")
			at = 0
		} else if at > 0 {
			b.WriteString(" ")
			at++
		}
		b.WriteString(w)
		at += len([]rune(w))
	}
	return b.String()
}
