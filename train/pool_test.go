package train

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/must"
)

// inProcess is a pool whose workers are goroutines.
type inProcess struct {
	t       *testing.T
	workers []*Worker
	units   chan int // of the current job

	mu    sync.Mutex
	open  map[int]chan struct{} // closed when the unit has an answer
	busy  sync.WaitGroup
	sizes map[int][]int // sizes of the answers, by number of jobs before
	jobs  int
}

// pooled returns the options with a pool of n workers, which end with the test.
func pooled(t *testing.T, opt Options, n int) Options {
	p := &inProcess{t: t, open: map[int]chan struct{}{}, sizes: map[int][]int{}}
	for range n {
		p.workers = append(p.workers, &Worker{Given: opt.Given, Table: all.Table()})
	}
	t.Cleanup(p.stop)
	opt.Pool = p
	return opt
}

// stop ends the current job.
func (p *inProcess) stop() {
	if p.units != nil {
		close(p.units)
	}
	p.busy.Wait()
}

func (p *inProcess) Start(job []byte, take func(unit int, answer []byte) (refused, failed error)) error {
	p.stop()
	p.units = make(chan int, 1<<10)
	p.jobs++
	for _, w := range p.workers {
		compute, err := w.Open(p.t.Context(), job)
		if err != nil {
			return err
		}
		units, number := p.units, p.jobs
		p.busy.Go(func() {
			for unit := range units {
				file, err := compute(context.WithoutCancel(p.t.Context()), unit)
				if err == nil {
					refused, failed := take(unit, file)
					err = errors.Join(refused, failed)
				}
				if err != nil {
					p.t.Errorf("unit %d: %v", unit, err)
				}
				p.mu.Lock()
				p.sizes[number] = append(p.sizes[number], len(file))
				close(p.open[unit])
				delete(p.open, unit)
				p.mu.Unlock()
			}
		})
	}
	return nil
}

func (p *inProcess) Give(units ...int) {
	for _, unit := range units {
		p.mu.Lock()
		if p.open[unit] == nil {
			p.open[unit] = make(chan struct{})
			p.units <- unit
		}
		p.mu.Unlock()
	}
}

func (p *inProcess) Wait(_ context.Context, units ...int) error {
	for _, unit := range units {
		p.mu.Lock()
		answered := p.open[unit]
		p.mu.Unlock()
		if answered != nil {
			<-answered
		}
	}
	return nil
}

// sameLabels checks that two runs stored the same label files.
func sameLabels(t *testing.T, got, want string) {
	t.Helper()
	g, w := labelFiles(t, got), labelFiles(t, want)
	if len(g) != len(w) {
		t.Fatalf("%d label files, want %d", len(g), len(w))
	}
	for i := range w {
		a := must.Get(os.ReadFile(g[i]))(t)
		b := must.Get(os.ReadFile(w[i]))(t)
		if filepath.Base(g[i]) != filepath.Base(w[i]) || !bytes.Equal(a, b) {
			t.Errorf("%s differs from %s", g[i], w[i])
		}
	}
}

// TestAPoolLabelsPlayOfAPolicy checks that a run whose labels other processes compute stores the same bytes as one that
// computes them, for joint decisions and a run whose beginning policy plays every second window.
func TestAPoolLabelsPlayOfAPolicy(t *testing.T) {
	cfg, opt := tiny(t)
	cfg.Updates, cfg.Expert, cfg.Candidates, cfg.Pairs, cfg.Size.Joint, cfg.Size.Hidden = 2, 2, 6, 0.5, true, 8
	from := &From{Policy: mustRun(t, cfg, opt)}
	opt.From, opt.Dir = from, filepath.Join(t.TempDir(), "from")
	cfg = from.Adopt(cfg)
	cfg.Along, cfg.Windows = alongTeam, 4
	first := mustRun(t, cfg, opt)
	other := pooled(t, fresh(t, opt), 2)
	sameWeights(t, mustRun(t, cfg, other), first)
	sameLabels(t, other.Dir, opt.Dir)
}

// TestLabelsMayBeLostInAPool checks that a pool computes damaged label files again, and only those that a run lacks.
func TestLabelsMayBeLostInAPool(t *testing.T) {
	cfg, opt := tiny(t)
	mustRun(t, cfg, opt)
	half := halted(t, cfg, fresh(t, opt), 2)
	files := labelFiles(t, half.Dir)
	edit(t, files[3], func(b []byte) []byte { return b[:len(b)/2] })
	half = pooled(t, half, 1)
	mustRun(t, cfg, half)
	same(t, half.Dir, opt.Dir)
	sameLabels(t, half.Dir, opt.Dir)
}

// afterLabels returns a run that has made one update from labels, and is open. It is closed when the test ends.
func afterLabels(t *testing.T) *run {
	t.Helper()
	cfg, opt := tiny(t)
	cfg.Updates = 1
	mustRun(t, cfg, opt)
	opt.Resume = true
	r := must.Get(start(t.Context(), cfg, opt))(t)
	t.Cleanup(r.close)
	return r
}

// TestLabelsFromOthersAreChecked checks that a run refuses label files that it would not have stored itself.
func TestLabelsFromOthersAreChecked(t *testing.T) {
	r := afterLabels(t)
	file := must.Get(os.ReadFile(labelFiles(t, r.opt.Dir)[0]))(t)
	must.Do(t, r.labels.check(file))
	again := func(change func([]checkpoints.Tensor) []checkpoints.Tensor) []byte {
		tensors, _, err := checkpoints.ReadTensors(file, checkpoints.Limits{})
		must.Do(t, err)
		var out bytes.Buffer
		must.Do(t, checkpoints.WriteTensors(&out, change(tensors), nil))
		return out.Bytes()
	}
	find := func(all []checkpoints.Tensor, name string) *checkpoints.Tensor {
		return &all[slices.IndexFunc(all, func(t checkpoints.Tensor) bool { return t.Name == name })]
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, "0 bytes, want at least 8"},
		{"half of it", file[:len(file)/2], "unexpected EOF"},
		{"too much", make([]byte, maxAnswer+1), "at most"},
		{"NaN", again(func(all []checkpoints.Tensor) []checkpoints.Tensor {
			find(all, "saved").Data.([]float64)[1] = math.NaN()
			return all
		}), `tensor "saved": element 1 is not a finite number`},
		{"an infinite feature", again(func(all []checkpoints.Tensor) []checkpoints.Tensor {
			find(all, "server").Data.([]float32)[0] = float32(math.Inf(1))
			return all
		}), `tensor "server": element 0 is not a finite number`},
		{"another shape", again(func(all []checkpoints.Tensor) []checkpoints.Tensor {
			all = append(all[:0:0], all...)
			s := find(all, "server")
			s.Shape = []int{s.Shape[0] * s.Shape[1], 1}
			return all
		}), `tensor "server": shape`},
		{"another count", again(func(all []checkpoints.Tensor) []checkpoints.Tensor {
			find(all, "counts").Data.([]int64)[2]++
			return all
		}), "shape"},
		{"the prior saves", again(func(all []checkpoints.Tensor) []checkpoints.Tensor {
			find(all, "saved").Data.([]float64)[0] = 3
			return all
		}), "the prior's own candidate saves 3, want 0"},
		{"one tensor more", again(func(all []checkpoints.Tensor) []checkpoints.Tensor {
			return append(all, checkpoints.Tensor{Name: "more", Shape: []int{0}, Data: []float32{}})
		}), "not in the form"},
	} {
		refused, failed := r.labels.take(5, c.file)
		if refused == nil || failed != nil || !strings.Contains(refused.Error(), c.want) {
			t.Errorf("%s: refused %v, failed %v, want %q", c.name, refused, failed, c.want)
		}
	}
	if _, err := os.Stat(r.labels.path(5)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was stored: %v", err)
	}
}

// TestAWorkerKnowsItsJob checks that a worker refuses a job that is damaged, or whose scenarios have other jobs here.
func TestAWorkerKnowsItsJob(t *testing.T) {
	r := afterLabels(t)
	job := must.Get(r.labels.describe(r.files))(t)
	var w Worker
	label := must.Get(w.Open(t.Context(), job))(t)
	if _, err := label(t.Context(), r.cfg.Expert*r.cfg.Windows); err == nil || !strings.Contains(err.Error(), "want 0 to 5") {
		t.Errorf("a window that the run does not label: error %v", err)
	}
	r.files.recipe.Workloads[0].Digest = strings.Repeat("0", 64)
	other := must.Get(r.labels.describe(r.files))(t)
	for name, c := range map[string]struct {
		job  []byte
		want string
	}{
		"no job": {nil, "0 bytes"}, "half a job": {job[:len(job)/2], "EOF"},
		"other jobs": {other, "is it the same trace?"},
	} {
		if _, err := w.Open(t.Context(), c.job); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// FuzzTake checks that the learner survives any answer, and that it stores only what it would have written itself.
func FuzzTake(f *testing.F) {
	for _, joint := range []bool{false, true} {
		l := &labels{scout: &agents.Policy{Shape: agents.Shape{Server: 1, Job: 1, Candidate: 1, Joint: joint}}}
		var b bytes.Buffer
		o := &agents.Observation{
			Servers: 1, Jobs: 1, Candidates: 2, Server: []float32{1}, Job: []float32{2}, Candidate: []float32{3, 4},
			Of: []int32{-1, 0}, Shares: []agents.Share{{Candidate: 1, Weight: 1}},
		}
		if joint {
			o.Rack, o.Type, o.Tenant = []int32{0}, []int32{0}, []int32{0}
		}
		must.Do(f, l.encode(&b, []learn.Sample{{Observation: o, Prior: []float32{0, -1}, Saved: []float64{0, 5}}}))
		must.Do(f, l.check(b.Bytes()))
		f.Add(b.Bytes(), joint)
	}
	f.Fuzz(func(t *testing.T, file []byte, joint bool) {
		l := &labels{scout: &agents.Policy{Shape: agents.Shape{Server: 1, Job: 1, Candidate: 1, Joint: joint}}}
		if l.check(file) != nil {
			return
		}
		tensors, _, err := checkpoints.ReadTensors(file, checkpoints.Limits{})
		must.Do(t, err)
		samples, err := unrow(&l.scout.Shape, tensors)
		var again bytes.Buffer
		if err == nil {
			err = l.encode(&again, samples)
		}
		if err != nil || !bytes.Equal(again.Bytes(), file) {
			t.Errorf("accepted a file that it would not write (%v)", err)
		}
	})
}

// FuzzJob checks that a worker survives any job.
func FuzzJob(f *testing.F) {
	var b bytes.Buffer
	must.Do(f, checkpoints.WriteTensors(&b, nil, map[string]string{recipeKey: "train:\n  seed: 1\nprior: fifo\n"}))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, job []byte) {
		if j, err := parseJob(job, all.Table()); err == nil && j.made.Train.Validate() != nil {
			t.Error("accepted settings that are not valid")
		}
	})
}

// BenchmarkTake measures how long the learner takes to check and store an answer of about the median size of label files of
// released policies, 0.4 MB.
func BenchmarkTake(b *testing.B) {
	cfg, opt := tiny(b)
	cfg.Updates = 1
	mustRun(b, cfg, opt)
	opt.Resume = true
	r := must.Get(start(b.Context(), cfg, opt))(b)
	defer r.close()
	window := must.Get(r.labels.read(labelFiles(b, opt.Dir)[0]))(b)
	var file bytes.Buffer
	for samples := window; file.Len() < 400_000; samples = append(samples, window...) {
		file.Reset()
		must.Do(b, r.labels.encode(&file, samples))
	}
	b.SetBytes(int64(file.Len()))
	cpu := func() float64 {
		var use syscall.Rusage
		must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
		return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e6
	}
	before := cpu()
	defer func() { b.ReportMetric((cpu()-before)/float64(b.N), "cpu-ms/op") }()
	for i := 0; b.Loop(); i++ {
		if refused, failed := r.labels.take(i, file.Bytes()); refused != nil || failed != nil {
			b.Fatal(refused, failed)
		}
	}
}
