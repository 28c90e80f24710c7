package console

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

func play(t rapid.TB, policy string, servers, gpus int, jobs []trace.Job) *sim.Log {
	t.Helper()
	s := must.Get(baselines.New(policy))(t)
	return simtest.Play(t, &sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(servers, gpus)}, Jobs: jobs}, s, 1)
}

func job(name string, submit, work, workers, milli int) trace.Job {
	var j trace.Job
	j.Name, j.Submit, j.Work = name, time.Duration(submit)*time.Second, time.Duration(work)*time.Second
	j.Estimate = max(1, j.Work)
	j.Workers, j.Request.GPUMilli = int32(workers), int32(milli)
	return j
}

func drawn(t rapid.TB, o Options, logs ...*sim.Log) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Gantt(&b, o, logs...))
	return b.String()
}

// five returns five jobs, of which two share a GPU.
func five() []trace.Job {
	return []trace.Job{
		job("long", 0, 600, 4, 1000), job("short", 60, 60, 4, 1000), job("wide", 100, 120, 3, 1000),
		job("half", 120, 240, 1, 500), job("other half", 130, 200, 1, 500),
	}
}

func TestDrawings(t *testing.T) {
	fifo, srtf := play(t, "fifo", 2, 2, five()), play(t, "srtf", 2, 2, five())
	for _, c := range []struct {
		name string
		o    Options
		logs []*sim.Log
		want string
	}{
		{"a row is a GPU where so many fit", Options{Width: 64, Height: 12}, []*sim.Log{fifo}, `
fifo: mean JCT 11.3min, makespan 15min, utilisation 89 %, up to…
server-0 0 │AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACCCBBBBBBB░      
         1 │AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACCCBBBBBBB░      
server-1 0 │AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACCCBBBBBBB░      
         1 │AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACCC█DDDDDDDDDDDDD
   waiting │   ▄▄▇█████████████████████████████▄▄▄▄             
           └┴────────────────┴────────────────┴─────────────────
            0                5min             10min             
jobs: A long (4 GPUs)   B wide (3 GPUs)   C short (4 GPUs)      
      D half (0.5 GPUs)                                         
`},
		{"two schedules stand on one axis, and their rows are servers", Options{Width: 64, Height: 12, ASCII: true}, []*sim.Log{fifo, srtf}, `
fifo: mean JCT 11.3min, makespan 15min, utilisation 89 %, up to~
server-0 |AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACCCCBBBBBBB       
server-1 |AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACCCCBBBBBB#:::::..
 waiting |   5558999999999999999999999999999995555              
srtf: mean JCT 5.13min, makespan 15min, utilisation 89 %, up to~
server-0 |AAAACCCBBBBBBB:      :AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
server-1 |AAAACCC#BBBBBB+:::::.+AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
 waiting |   5558855555555555555                                
         ++-----------------+-----------------+-----------------
          0                 5min              10min             
jobs: A long (4 GPUs)   B wide (3 GPUs)   C short (4 GPUs)      
`},
		{"servers stand together where they are many", Options{Width: 48, Height: 8},
			[]*sim.Log{play(t, "fifo", 5, 1, []trace.Job{job("all of them", 0, 50, 5, 1000), job("one", 0, 50, 1, 1000)})}, `
fifo: mean JCT 75s, makespan 100s, utilisation …
server-0 +2 │AAAAAAAAAAAAAAAAAA▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
server-3 +1 │AAAAAAAAAAAAAAAAAA                 
    waiting │██████████████████                 
            └┴────────────────────┴─────────────
             0                    1min          
jobs: A all of them (5 GPUs)                    
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := drawn(t, c.o, c.logs...); got != strings.TrimPrefix(c.want, "\n") {
				t.Errorf("got\n%s\nwant%s", got, c.want)
			}
		})
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestEveryDrawingFits checks that every line has the requested width, that there are no more lines than requested, that colours
// change no rune, and that the cells contain what the jobs held.
func TestEveryDrawingFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var logs []*sim.Log
		for range rapid.IntRange(1, 3).Draw(t, "schedules") {
			servers, gpus := rapid.IntRange(1, 9).Draw(t, "servers"), rapid.IntRange(1, 4).Draw(t, "GPUs")
			jobs := []trace.Job{job("näme\x1b[31m", 0, 1, 1, 1000)}
			for i := range rapid.IntRange(0, 30).Draw(t, "jobs") {
				jobs = append(jobs, job(fmt.Sprint("j", i), rapid.IntRange(0, 500).Draw(t, "submit"), rapid.IntRange(0, 400).Draw(t, "work"),
					rapid.IntRange(1, servers*gpus).Draw(t, "workers"), rapid.SampledFrom([]int{1000, 500, 300}).Draw(t, "milli")))
			}
			logs = append(logs, play(t, rapid.SampledFrom([]string{"fifo", "srtf", "las"}).Draw(t, "policy"), servers, gpus, jobs))
		}
		o := Options{Width: rapid.IntRange(MinWidth, 150).Draw(t, "width"), ASCII: rapid.Bool().Draw(t, "ASCII")}
		o.Height = rapid.IntRange(minHeight+(len(logs)-1)*minHeight/2, 50).Draw(t, "height")
		text := drawn(t, o, logs...)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) > o.Height {
			t.Fatalf("%d lines, want up to %d", len(lines), o.Height)
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n != o.Width {
				t.Fatalf("%d runes, want %d: %q", n, o.Width, line)
			}
			if o.ASCII && len(line) != o.Width || strings.Contains(line, "\x1b") {
				t.Fatalf("not plain: %q", line)
			}
		}
		o.Colour = true
		if colourful := drawn(t, o, logs...); escapes.ReplaceAllString(colourful, "") != text || !escapes.MatchString(colourful) {
			t.Fatalf("colour changes more than colours:\n%q\n%q", colourful, text)
		}
		for _, log := range logs {
			sums(t, log, o)
		}
	})
}

func sums(t *rapid.T, log *sim.Log, o Options) {
	p, until := newPanel(log, o.Height), log.Records[len(log.Records)-1].At
	p.fill(until, o.Width)
	want, got := 0.0, 0.0
	at := make([]time.Duration, len(log.Jobs))
	holds := make([]float64, len(log.Jobs))
	for i := range log.Records {
		r := &log.Records[i]
		if r.Kind == sim.End {
			break
		}
		want += holds[r.Job] * float64(r.At-at[r.Job])
		at[r.Job], holds[r.Job] = r.At, log.Placement(r).GPUs()
	}
	for i := range p.cells {
		c := &p.cells[i]
		got += c.held
		if c.best > c.held || c.held > p.capacity(i)*(1+1e-9) {
			t.Fatalf("cell %d: %v of %v, most of one job %v", i, c.held, p.capacity(i), c.best)
		}
	}
	if math.Abs(got-want) > 1e-9*want {
		t.Fatalf("the cells hold %v GPU-ns, and the jobs held %v", got, want)
	}
}

func TestWhatCannotBeDrawnIsRefused(t *testing.T) {
	log, empty := play(t, "fifo", 2, 2, five()), &sim.Log{Config: sim.Config{Cluster: cluster.Uniform(1, 1)}}
	for _, c := range []struct {
		name string
		o    Options
		logs []*sim.Log
		want string
	}{
		{"narrow", Options{Width: 39, Height: 20}, []*sim.Log{log}, "39 columns"},
		{"low", Options{Width: 80, Height: 11}, []*sim.Log{log, log}, "11 lines, want 40 and 12"},
		{"no log", Options{Width: 80, Height: 20}, nil, "no time"},
		{"no time", Options{Width: 80, Height: 20}, []*sim.Log{empty}, "no time"},
	} {
		if err := Gantt(&bytes.Buffer{}, c.o, c.logs...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestLabelsOfTimeAreRound(t *testing.T) {
	for _, c := range []struct {
		until time.Duration
		most  int
		want  string // the first three labels
	}{
		{time.Nanosecond, 9, "0 1ns 2ns"},
		{7 * time.Millisecond, 5, "0 2ms 4ms"},
		{time.Minute, 9, "0 10s 20s"},
		{90 * time.Minute, 9, "0 10min 20min"},
		{80 * time.Hour, 9, "0 12h 24h"},
		{400 * day, 9, "0 50d 100d"},
		{40_000 * day, 2, "0 20000d 40000d"},
	} {
		step := stepFor(c.until, c.most)
		if got := strings.Join([]string{inUnit(0, step), inUnit(step, step), inUnit(2*step, step)}, " "); got != c.want {
			t.Errorf("%v in %d: %s, want %s", c.until, c.most, got, c.want)
		}
	}
}

func TestPlainText(t *testing.T) {
	for _, c := range []struct {
		text, want string
		ascii      bool
	}{
		{"job 7", "job 7", false}, {"näme", "näme", false}, {"näme", "n?me", true}, {"\x1b[31m", "?[31m", false},
		{"a\nb\tc\u202ed\u00a0", "a?b?c?d?", false}, {"", "", true},
	} {
		if got := Plain(c.text, c.ascii); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.text, got, c.want)
		}
	}
}
