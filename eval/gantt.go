package eval

import (
	"fmt"
	"hash/fnv"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// titledJobs is the number of jobs up to which a Gantt chart says of each what it is when pointed at.
const titledJobs = 5000

const (
	ganttWidth, ganttLeft, ganttRight = 1100.0, 74.0, 16.0
	queueHeight                       = 34.0
)

// WriteGantt draws schedules one above the other on one axis of time, as SVG: a row is a GPU, a box is a job on it, white
// lines part the servers, and the strip below each schedule is the demand that waits. A job has the same colour in all of
// them. Shares of a GPU are drawn translucent over the whole row.
func WriteGantt(w io.Writer, logs ...*sim.Log) error {
	if len(logs) == 0 {
		return fmt.Errorf("draw Gantt chart: no log")
	}
	var until time.Duration
	rows := 0
	for _, log := range logs {
		if n := len(log.Records); n > 0 {
			until = max(until, log.Records[n-1].At)
		}
		rows = max(rows, log.Config.Cluster.GPUs())
	}
	if until == 0 || rows == 0 {
		return fmt.Errorf("draw Gantt chart: the logs hold no time or no GPU")
	}
	panel := min(max(float64(rows)*6, 96), 420)
	const above, between, below = 34.0, 14.0, 44.0
	height := float64(len(logs))*(above+panel+4+queueHeight+between) + below
	g := gantt{
		drawing: newDrawing("gantt", ganttWidth, height, "Gantt chart of GPUs over time", ganttStyle()),
		until:   until, x0: ganttLeft, scale: (ganttWidth - ganttLeft - ganttRight) / float64(until),
	}
	most := 0.0
	for _, log := range logs {
		most = max(most, slices.Max(waiting(log, until, g.columns())))
	}
	y := 0.0
	for _, log := range logs {
		y += above
		g.panel(log, y, panel)
		g.queue(log, y+panel+4, most)
		y += panel + 4 + queueHeight + between
	}
	for _, mark := range ticks(until, 12) {
		g.text(g.x(mark.at), y+8, "m", mark.label)
	}
	g.text((ganttLeft+ganttWidth-ganttRight)/2, y+30, "m s", "time since the first submission")
	return g.writeTo(w)
}

type gantt struct {
	*drawing
	until     time.Duration
	x0, scale float64
}

func (g *gantt) x(t time.Duration) float64 { return g.x0 + float64(t)*g.scale }

func (g *gantt) columns() int { return int(ganttWidth - ganttLeft - ganttRight) }

// jobColours are the fills of jobs, even in lightness so that none stands out.
func jobColours() []string {
	return []string{
		"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948",
		"#b07aa1", "#ff9da7", "#9c755f", "#7c9bd1", "#8cb369", "#d37295",
	}
}

func ganttStyle() string {
	var b strings.Builder
	for i, c := range jobColours() {
		fmt.Fprintf(&b, ".j%d{fill:%s}", i, c)
	}
	b.WriteString(".w{stroke:#fff;stroke-width:1}.q{fill:#b9bec6}.h{fill-opacity:.45}path:hover{fill:#111}")
	return b.String()
}

// panel draws one schedule.
func (g *gantt) panel(log *sim.Log, y, height float64) {
	m := Measure(log)
	name := log.Scheduler
	if name == "" {
		name = "schedule"
	}
	g.text(ganttLeft, y-10, "t", name)
	seconds := func(s float64) string { return shortTime(time.Duration(s * float64(time.Second))) }
	about := fmt.Sprintf("mean JCT %s, makespan %s, utilisation %.0f%%",
		seconds(m.MeanJCT), seconds(m.Makespan), 100*m.Utilisation)
	if m.Truncated != "" {
		about += ", cut off: " + m.Truncated
	}
	g.text(ganttWidth-ganttRight, y-10, "e s", about)
	g.rect(ganttLeft, y, g.x(g.until)-ganttLeft, height, "#f1f2f4")
	servers := log.Config.Cluster.Servers
	row := height / float64(log.Config.Cluster.GPUs())
	first := make([]float64, len(servers)+1) // rows above each server
	for i := range servers {
		first[i+1] = first[i] + float64(servers[i].GPUs)
	}
	for id, job := range segments(log) {
		g.job(log, cluster.JobID(id), job, y, row, first)
	}
	label := max(1, (len(servers)+7)/8)
	for i := range servers {
		at := y + first[i]*row
		if i > 0 && height/float64(len(servers)) >= 4 {
			g.line(ganttLeft, at, g.x(g.until), at, "w")
		}
		if i%label == 0 {
			g.text(ganttLeft-8, at+min(12, max(9, row*float64(servers[i].GPUs)/2+4)), "e s", fmt.Sprintf("server %d", i))
		}
	}
}

// segment is a job on its GPUs from one instant to another.
type segment struct {
	from, to time.Duration
	record   *sim.Record // that put it there
}

// segments lists, for every job, where it was and when.
func segments(log *sim.Log) [][]segment {
	all := make([][]segment, len(log.Jobs))
	open := make([]bool, len(log.Jobs))
	stop := func(id cluster.JobID, at time.Duration) {
		if open[id] {
			all[id][len(all[id])-1].to = at
			open[id] = false
		}
	}
	for i := range log.Records {
		r := &log.Records[i]
		switch r.Kind {
		case sim.Start, sim.Resize, sim.Migrate:
			stop(r.Job, r.At)
			all[r.Job] = append(all[r.Job], segment{from: r.At, record: r})
			open[r.Job] = true
		case sim.Preempt, sim.Interrupt, sim.Finish:
			stop(r.Job, r.At)
		}
	}
	if n := len(log.Records); n > 0 {
		for id := range open {
			stop(cluster.JobID(id), log.Records[n-1].At)
		}
	}
	return all
}

// job draws all that one job held as one path: GPUs side by side become one box.
func (g *gantt) job(log *sim.Log, id cluster.JobID, all []segment, y, row float64, first []float64) {
	var path strings.Builder
	share := false
	for _, s := range all {
		rows, part := gpuRows(log, s.record, first)
		share = share || part
		left := g.x(s.from)
		width := max(g.x(s.to)-left, .3)
		for i := 0; i < len(rows); {
			k := i + 1
			for k < len(rows) && rows[k] == rows[k-1]+1 {
				k++
			}
			fmt.Fprintf(&path, "M%s %sh%sv%sh-%sz", px(left), px(y+rows[i]*row), px(width), px(float64(k-i)*row), px(width))
			i = k
		}
	}
	if path.Len() == 0 {
		return
	}
	job := &log.Jobs[id]
	class := fmt.Sprintf("j%d", colour(job.Name))
	if share {
		class += " h"
	}
	fmt.Fprintf(&g.b, `<path class="%s" d="%s"`, class, path.String())
	if len(log.Jobs) > titledJobs {
		g.b.WriteString("/>\n")
		return
	}
	fmt.Fprintf(&g.b, "><title>job %s: %s GPUs, %s of work, submitted at %s, waited %s", html.EscapeString(job.Name),
		px(job.GPUs()), shortTime(job.Work), shortTime(job.Submit), shortTime(all[0].from-job.Submit))
	if n := len(all); n > 1 {
		fmt.Fprintf(&g.b, ", %d pieces", n)
	}
	g.b.WriteString("</title></path>\n")
}

// gpuRows returns the rows of the GPUs that a record gives its job, ascending, and whether it takes only a share of them.
func gpuRows(log *sim.Log, r *sim.Record, first []float64) (rows []float64, share bool) {
	gpus := log.GPUs(r)
	for _, p := range log.Placement(r) {
		for range p.Workers {
			rows = append(rows, first[p.Server]+float64(gpus[0]))
			gpus = gpus[1:]
		}
		share = share || p.GPUMilli < cluster.WholeGPU
	}
	slices.Sort(rows)
	return rows, share
}

// colour is a job's in every chart: it depends on the name alone.
func colour(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int(h.Sum32() % uint32(len(jobColours())))
}

// queue draws the GPUs that waiting jobs ask for; most is the height of the scale.
func (g *gantt) queue(log *sim.Log, y, most float64) {
	demand := waiting(log, g.until, g.columns())
	bottom := y + queueHeight
	var path strings.Builder
	fmt.Fprintf(&path, "M%s %s", px(g.x0), px(bottom))
	last := -1.0
	for i, n := range demand {
		if n != last {
			fmt.Fprintf(&path, "H%sV%s", px(g.x0+float64(i)), px(bottom-n/max(most, 1)*queueHeight))
			last = n
		}
	}
	fmt.Fprintf(&path, "H%sV%sz", px(g.x(g.until)), px(bottom))
	fmt.Fprintf(&g.b, `<path class="q" d="%s"><title>GPUs that waiting jobs ask for</title></path>`+"\n", path.String())
	g.line(g.x0, bottom, g.x(g.until), bottom, "a")
	g.text(g.x0-8, y+10, "e s", px(most)+" GPUs")
	g.text(g.x0-8, y+queueHeight, "e s", "waiting")
}

// waiting returns, for each of a number of equal parts of [0, until], the most GPUs that waiting jobs ask for in it.
func waiting(log *sim.Log, until time.Duration, columns int) []float64 {
	demand := make([]float64, columns)
	if until == 0 {
		return demand
	}
	column := func(t time.Duration) int { return min(columns-1, int(float64(t)/float64(until)*float64(columns))) }
	milli, at := int64(0), 0 // thousandths, so that a sum of shares ends at exactly 0
	for i := range log.Records {
		r := &log.Records[i]
		for to := column(r.At); at < to; {
			at++
			demand[at] = float64(milli) / cluster.WholeGPU
		}
		switch r.Kind {
		case sim.Submit, sim.Preempt, sim.Interrupt:
			milli += wants(log, r.Job)
		case sim.Start:
			milli -= wants(log, r.Job)
		}
		// What waits for no time at all is not waiting: look only at what an instant leaves behind.
		if i+1 == len(log.Records) || log.Records[i+1].At > r.At {
			demand[at] = max(demand[at], float64(milli)/cluster.WholeGPU)
		}
	}
	return demand
}

func wants(log *sim.Log, id cluster.JobID) int64 {
	j := &log.Jobs[id]
	return int64(j.Workers) * int64(j.Request.GPUMilli)
}
