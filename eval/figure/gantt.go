package figure

import (
	"fmt"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// parts is the number of intervals in the strips of waiting demand.
const parts = 500

// Gantt draws schedules one above the other on a common time axis. A row is a GPU and a box is a job on it; white lines separate
// the servers. The strip below each schedule shows the demand of waiting jobs. A job has the same colour in all schedules. Jobs
// that share a GPU are stacked within its row. The background of a schedule ends with its log. Servers of an inference pool are
// darker while they serve it and tinted while they are on loan; servers and GPUs that are down are hatched.
func Gantt(logs ...*sim.Log) (*Figure, error) {
	if len(logs) == 0 {
		return nil, fmt.Errorf("draw Gantt chart: no log")
	}
	var until time.Duration
	gpus := 0
	for i, log := range logs {
		if n := len(log.Records); n > 0 {
			until = max(until, log.Records[n-1].At)
		}
		if log.Config.Cluster.GPUs() == 0 {
			return nil, fmt.Errorf("draw Gantt chart: the cluster of log %d has no GPU", i)
		}
		gpus = max(gpus, log.Config.Cluster.GPUs())
	}
	if until <= 0 {
		return nil, fmt.Errorf("draw Gantt chart: the logs hold no time")
	}
	g := gantt{until: until.Seconds(), height: min(max(2.5*vg.Length(gpus), 60), 190)}
	for _, log := range logs {
		s := newSchedule(log)
		s.demand = eval.NewTimeline(log, until, parts)
		for _, n := range s.demand.Waiting {
			g.most = max(g.most, n)
		}
		g.schedules = append(g.schedules, s)
	}
	g.legend = newLegend(g.entries(), page)
	return &Figure{
		title: "Gantt chart of GPUs over time", width: page,
		height: whole(g.legend.height + stackHeight(g.panels())),
		draw:   func(s sheet) { stack(g.legend.draw(s.Canvas), g.panels()) },
	}, nil
}

type gantt struct {
	schedules []*schedule
	until     float64   // seconds
	height    vg.Length // of a schedule
	most      float64   // largest number of GPUs waited for
	legend    legend
}

// entries returns legend entries for the backgrounds that appear in some schedule.
func (g *gantt) entries() []entry {
	var found [grounds]bool
	for _, s := range g.schedules {
		for _, a := range s.areas {
			found[a.ground] = true
		}
	}
	var entries []entry
	for i, name := range [grounds]string{serving: "serving inference", onLoan: "on loan", down: "out of order"} {
		if !found[i] {
			continue
		}
		entries = append(entries, entry{name, func(c draw.Canvas, left, right, y vg.Length) {
			paintGround(c, ground(i), []vg.Rectangle{{Min: vg.Point{X: left, Y: y - 3}, Max: vg.Point{X: right, Y: y + 3}}})
		}})
	}
	return entries
}

func (g *gantt) panels() []panel {
	x := timeTicks(0, g.until, 12, false)
	var panels []panel
	for _, s := range g.schedules {
		jobs, strip := newPlot(), newPlot()
		for _, p := range []*plot.Plot{jobs, strip} {
			p.X.Min, p.X.Max = 0, g.until
			p.X.Tick.Marker = plot.ConstantTicks(nil)
		}
		jobs.Y.Min, jobs.Y.Max = 0, s.rows()
		jobs.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
		jobs.Y.Label.Text, jobs.Y.Tick.Marker = "server", plot.ConstantTicks(s.serverTicks())
		jobs.Add(rows{s})

		top := max(g.most, 1)
		strip.Y.Min, strip.Y.Max = 0, top
		strip.Y.Label.Text = "GPUs\nwaiting"
		strip.Y.Label.TextStyle.Font.Size = tickSize
		strip.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: top, Label: fmt.Sprintf("%.4g", top)}}
		strip.Add(grid{x: x}, area{waiting(&s.demand)})
		panels = append(panels,
			panel{plot: jobs, height: g.height, above: 12, head: s.head}, panel{plot: strip, height: 27, above: -2})
	}
	last := panels[len(panels)-1].plot
	last.X.Label.Text, last.X.Tick.Marker = "time since the first submission", plot.ConstantTicks(x)
	return panels
}

// waiting returns the GPUs waited for as a step function.
func waiting(t *eval.Timeline) (p path) {
	part := t.Until.Seconds() / float64(len(t.Waiting))
	for i, n := range t.Waiting {
		p.x, p.y = append(p.x, float64(i)*part, float64(i+1)*part), append(p.y, n, n)
	}
	return p
}

// area fills the area below a path.
type area struct{ path }

func (a area) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var outline vg.Path
	outline.Move(vg.Point{X: x(a.x[0]), Y: y(0)})
	for i := range a.x {
		outline.Line(vg.Point{X: x(a.x[i]), Y: y(a.y[i])})
	}
	outline.Line(vg.Point{X: x(a.x[len(a.x)-1]), Y: y(0)})
	outline.Close()
	c.SetColor(pale)
	c.Fill(outline)
}

// head writes the scheduler's name and its results above its schedule.
func (s *schedule) head(c draw.Canvas) {
	name, about := letters(labelSize, ink), letters(tickSize, grey)
	about.XAlign = draw.XRight
	room := c.Max.X - c.Min.X - about.Width(s.about) - 2*gap
	c.FillText(name, vg.Point{X: c.Min.X, Y: c.Min.Y + 4}, fit(s.name, name, room))
	c.FillText(about, vg.Point{X: c.Max.X, Y: c.Min.Y + 4}, s.about)
}

// serverTicks returns ticks at the middle of about eight servers.
func (s *schedule) serverTicks() []plot.Tick {
	var marks []plot.Tick
	n := len(s.first) - 1
	step := max(1, (n+7)/8)
	for i := 0; i < n; i += step {
		marks = append(marks, plot.Tick{Value: (s.first[i] + s.first[i+1]) / 2, Label: fmt.Sprint(i)})
	}
	return marks
}
