package belief

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// toy is a cluster with jobs of which tests choose the readings.
type toy struct {
	*cluster.State
	n cluster.JobID
}

// newToy returns a cluster of four servers with 8 GPUs each.
func newToy(t rapid.TB, jobs int) *toy {
	s := must.Get(cluster.NewState(cluster.Uniform(4, 8), jobs))(t)
	return &toy{State: s}
}

func (c *toy) submit(spec cluster.JobSpec) cluster.JobID {
	id := c.n
	c.n++
	if spec.Name = fmt.Sprint("job ", id); spec.Workers == 0 {
		spec.Workers = 1
	}
	c.Submit(id, &spec)
	return id
}

// read adds a reading, a minute later than the one before.
func (c *toy) read(id cluster.JobID, at cluster.Configuration, speed float64) {
	c.Advance(c.Now() + time.Minute)
	c.AddReading(id, cluster.Reading{At: c.Now(), Speed: speed, Configuration: at})
}

// amount is that of a worker with a whole GPU.
func amount(cores float64) cluster.Amount {
	return cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: int32(1000 * cores), MemMiB: 40960}
}

// as returns the configuration of a job as it asked, with other cores.
func as(spec *cluster.JobSpec, cores float64) cluster.Configuration {
	c := cluster.Configuration{Workers: spec.Workers, Amount: spec.Request, Servers: 1}
	c.CPUMilli = int32(math.Round(1000 * cores))
	return c
}

func drawSpec(t *rapid.T) cluster.JobSpec {
	return cluster.JobSpec{
		Model: rapid.SampledFrom([]string{"", "", "resnet", "vision"}).Draw(t, "model"), User: rapid.SampledFrom([]string{"", "ada", "bob"}).Draw(t, "user"),
		Group: rapid.SampledFrom([]string{"", "nightly"}).Draw(t, "group"), Workers: rapid.Int32Range(1, 20).Draw(t, "asked"),
		Request: drawAmount(t),
	}
}

func drawAmount(t *rapid.T) cluster.Amount {
	return cluster.Amount{
		GPUMilli: rapid.SampledFrom([]int32{1000, 1000, 500, 1}).Draw(t, "share"),
		CPUMilli: rapid.SampledFrom([]int32{0, 100, 500, 1000, 2500, 3000, 6000, 48000, 1 << 30}).Draw(t, "cpu"),
		MemMiB:   rapid.SampledFrom([]int32{0, 1, 20000, 40960, 1 << 30}).Draw(t, "memory"),
	}
}

func drawConfiguration(t *rapid.T) cluster.Configuration {
	return cluster.Configuration{
		Workers: rapid.Int32Range(1, 40).Draw(t, "workers"), Amount: drawAmount(t), Servers: rapid.Int32Range(1, 12).Draw(t, "servers"),
		Racks: rapid.Int32Range(0, 3).Draw(t, "racks"), GPUType: rapid.SampledFrom([]string{"", "V100", "T4", "P100|V100", "new", "newer|newest"}).Draw(t, "type"), Shared: rapid.Bool().Draw(t, "shared"),
	}
}

// drawReadings lets all learners read the same. Of several, only the last is asked in between.
func drawReadings(t *rapid.T, c *toy, all ...*Speeds) {
	for range rapid.IntRange(0, 24).Draw(t, "readings") {
		var id cluster.JobID
		if c.n == 0 || c.n < 6 && rapid.Bool().Draw(t, "new") {
			id = c.submit(drawSpec(t))
		} else {
			id = cluster.JobID(rapid.IntRange(0, int(c.n)-1).Draw(t, "job"))
		}
		c.read(id, drawConfiguration(t), math.Exp(rapid.Float64Range(-20, 20).Draw(t, "log")))
		for _, l := range all {
			l.Read(&c.View, id)
		}
		if len(all) > 1 && rapid.Bool().Draw(t, "ask") {
			spec, at := ask(t, c)
			if rapid.Bool().Draw(t, "as another user") {
				spec.User = "another"
			}
			all[len(all)-1].Of(&c.View, spec, &at)
		}
	}
}

// ask asks about a job of the toy, or one that is drawn.
func ask(t *rapid.T, c *toy) (*cluster.JobSpec, cluster.Configuration) {
	spec := drawSpec(t)
	if c.n > 0 {
		spec = *c.Spec(cluster.JobID(rapid.IntRange(0, int(c.n)-1).Draw(t, "asked job")))
	}
	return &spec, drawConfiguration(t)
}

// TestSpeedsAreSensible checks that whatever was read, a job as it asked has speed 1, that more CPU never makes it slower, that each
// further core brings less, and that less memory than it asked for does not pay.
func TestSpeedsAreSensible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, l := newToy(t, 7), NewSpeeds(rapid.IntRange(0, 9).Draw(t, "learns") > 0)
		drawReadings(t, c, l)
		spec := drawSpec(t)
		if c.n > 0 && rapid.Bool().Draw(t, "read before") {
			spec = *c.Spec(0)
		}
		at := as(&spec, 0)
		at.CPUMilli, at.Servers = spec.Request.CPUMilli, (spec.Workers+7)/8
		if mean, sd := l.Of(&c.View, &spec, &at); mean != 0 || sd != 0 {
			t.Fatalf("as it asked it has a speed with logarithm %v and deviation %v", mean, sd)
		}
		least := at
		if least.MemMiB /= 2; least.MemMiB > 0 {
			if mean, _ := l.Of(&c.View, &spec, &least); mean > -2 {
				t.Fatalf("with half of the memory, the logarithm of its speed is %v", mean)
			}
		}
		at = drawConfiguration(t)
		speed := func(cores float64) float64 {
			at.CPUMilli = int32(math.Round(1000 * cores))
			mean, sd := l.Of(&c.View, &spec, &at)
			if math.IsNaN(mean) || !(sd >= 0 && sd < 100) {
				t.Fatalf("mean %v, deviation %v", mean, sd)
			}
			return math.Exp(mean)
		}
		a := float64(rapid.IntRange(300, 30000).Draw(t, "milli")) / 1000
		d := float64(rapid.IntRange(1, 10000).Draw(t, "step")) / 1000
		v, w, x := speed(a), speed(a+d), speed(a+2*d)
		if v > w*(1+1e-9) || w > x*(1+1e-9) {
			t.Fatalf("speeds %v, %v and %v with %v cores and each %v more", v, w, x, a, d)
		}
		if x-w > (w-v)*(1+1e-6)+1e-9*x && v > math.Exp(slowest)*1.01 {
			t.Fatalf("speeds %v, %v and %v with %v cores and each %v more: the last bring more than those before", v, w, x, a, d)
		}
	})
}

// TestEqualCallsGiveEqualBeliefs checks that two beliefs with the same calls save and answer the same, whatever they were asked in
// between, and that a restored one answers and learns like the saved one.
func TestEqualCallsGiveEqualBeliefs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, l, other := newToy(t, 7), NewSpeeds(true), NewSpeeds(true)
		same := func(when string) {
			for range 3 {
				spec, at := drawSpec(t), drawConfiguration(t)
				if c.n > 0 && rapid.Bool().Draw(t, "read before") {
					spec = *c.Spec(cluster.JobID(rapid.IntRange(0, int(c.n)-1).Draw(t, "job")))
				}
				mean, sd := l.Of(&c.View, &spec, &at)
				if m, s := other.Of(&c.View, &spec, &at); m != mean || s != sd || l.Kind(&spec) != other.Kind(&spec) {
					t.Fatalf("%s, (%v, %v) and (%v, %v) for %+v", when, mean, sd, m, s, spec)
				}
			}
			if a, b := l.Save(), other.Save(); !bytes.Equal(a, b) {
				t.Fatalf("%s, two texts:\n%s\n%s", when, a, b)
			}
		}
		drawReadings(t, c, l, other)
		same("after readings")
		text := l.Save()
		other = NewSpeeds(true)
		if rapid.Bool().Draw(t, "to forget") {
			drawReadings(t, newToy(t, 7), other)
		}
		must.Do(t, other.Restore(text))
		same("restored")
		drawReadings(t, c, l, other)
		same("after more readings")
		l.Forget()
		other.Forget()
		same("without jobs")
	})
}

// TestThreeReadingsTellWhatCPUBrings checks that three readings of a job tell whether CPU brings it more speed, for the job itself
// and, less surely, for others of its user.
func TestThreeReadingsTellWhatCPUBrings(t *testing.T) {
	for _, bound := range []bool{true, false} {
		c, l := newToy(t, 3), NewSpeeds(true)
		spec := cluster.JobSpec{User: "ada", Request: amount(3)}
		id, next, foreign := c.submit(spec), c.submit(spec), c.submit(cluster.JobSpec{User: "bob", Request: amount(3)})
		before := l.Version(c.Spec(id))
		for _, cores := range []float64{3, 6, 2} {
			speed := 7.0
			if bound {
				speed *= cores
			}
			c.read(id, as(c.Spec(id), cores), speed)
			l.Read(&c.View, id)
		}
		for cores, want := range map[float64]float64{6: 2, 2: 2.0 / 3} {
			if !bound {
				want = 1
			}
			far := -1.0
			var deviations []float64
			for _, job := range []cluster.JobID{id, next, foreign} {
				at := as(c.Spec(job), cores)
				mean, sd := l.Of(&c.View, c.Spec(job), &at)
				miss := math.Abs(mean - math.Log(want))
				if job == id && miss > 0.06 || miss < far-1e-9 {
					t.Errorf("CPU-bound: %v: job %d has speed %v with %v cores, want %v", bound, job, math.Exp(mean), cores, want)
				}
				far = max(far, miss)
				deviations = append(deviations, sd)
			}
			if !(deviations[0] < deviations[1] && deviations[1] <= deviations[2]) {
				t.Errorf("CPU-bound: %v: deviations of the job, of its user and of another are %v", bound, deviations)
			}
		}
		if l.Version(c.Spec(id)) == before || l.Kind(c.Spec(id)) == l.Kind(c.Spec(next)) || l.Kind(c.Spec(next)) == l.Kind(c.Spec(foreign)) {
			t.Errorf("version %d, kinds %q", l.Version(c.Spec(id)), l.Kind(c.Spec(id)))
		}
	}
}

// TestJobsOfAModelAreCompared checks that first readings of different jobs teach what CPU brings if the jobs train one model, and
// that they do not if their throughputs turn out to have different units.
func TestJobsOfAModelAreCompared(t *testing.T) {
	for _, one := range []bool{true, false} {
		c, l := newToy(t, 21), NewSpeeds(true)
		for i := range 20 {
			id := c.submit(cluster.JobSpec{Model: "resnet", Request: amount(3)})
			cores, unit := []float64{2, 4}[i/2%2], 1.0
			if !one {
				unit = []float64{0.1, 10, 0.3, 7}[i%4]
			}
			c.read(id, as(c.Spec(id), cores), unit*cores)
			l.Read(&c.View, id)
		}
		id := c.submit(cluster.JobSpec{Model: "resnet", Request: amount(3)})
		at := as(c.Spec(id), 4)
		mean, sd := l.Of(&c.View, c.Spec(id), &at)
		before, unsure := NewSpeeds(true).Of(&c.View, c.Spec(id), &at)
		if truth := math.Log(4.0 / 3); one && (mean < before+0.02 || mean > truth || sd > 0.7*unsure) || !one && (math.Abs(mean-before) > 0.05 || sd < 0.9*unsure) {
			t.Errorf("one unit: %v: mean %v, deviation %v, before %v and %v", one, mean, sd, before, unsure)
		}
	}
}

// TestNothingIsLearned checks that the cautious default ignores readings.
func TestNothingIsLearned(t *testing.T) {
	c, l := newToy(t, 1), NewSpeeds(false)
	id := c.submit(cluster.JobSpec{Request: amount(3)})
	for _, cores := range []float64{3, 6, 1} {
		c.read(id, as(c.Spec(id), cores), 1)
		l.Read(&c.View, id)
	}
	for cores, want := range map[float64]float64{1.5: 0.5, 3: 1, 6: 1} {
		at := as(c.Spec(id), cores)
		if mean, _ := l.Of(&c.View, c.Spec(id), &at); math.Abs(math.Exp(mean)-want) > 1e-12 {
			t.Errorf("speed %v with %v cores, want %v", math.Exp(mean), cores, want)
		}
	}
	for milli, want := range map[int32]float64{250: 0.25, 1000: 1} {
		at := as(c.Spec(id), 3)
		at.GPUMilli = milli
		if mean, _ := l.Of(&c.View, c.Spec(id), &at); math.Abs(math.Exp(mean)-want) > 1e-12 {
			t.Errorf("speed %v with a share of %d, want %v", math.Exp(mean), milli, want)
		}
		half := *c.Spec(id)
		half.Request.GPUMilli = 500
		if mean, _ := l.Of(&c.View, &half, &at); math.Abs(math.Exp(mean)-min(2*want, 1)) > 1e-12 {
			t.Errorf("speed %v with a share of %d where half was asked for, want %v", math.Exp(mean), milli, min(2*want, 1))
		}
	}
}

// TestReadingsTellWhatAShareCosts checks that readings tell whether a share of a GPU limits the speed of a job, and that before
// them it is believed to cost something.
func TestReadingsTellWhatAShareCosts(t *testing.T) {
	half := func(spec *cluster.JobSpec) cluster.Configuration {
		at := as(spec, 3)
		at.GPUMilli = 500
		return at
	}
	for _, want := range []float64{1, 0.5} {
		c, l := newToy(t, 5), NewSpeeds(true)
		spec := cluster.JobSpec{User: "ada", Request: amount(3)}
		believed := func(id cluster.JobID) float64 {
			at := half(c.Spec(id))
			mean, _ := l.Of(&c.View, c.Spec(id), &at)
			return math.Exp(mean)
		}
		last := c.submit(spec)
		before := believed(last)
		if before > 0.9 || before < 0.55 {
			t.Errorf("before any reading, half a GPU gives the speed %v", before)
		}
		for range 3 {
			id := c.submit(spec)
			c.read(id, as(c.Spec(id), 3), 7)
			c.read(id, half(c.Spec(id)), 7*want)
			l.Read(&c.View, id)
		}
		if got := believed(last); math.Abs(got-want) > 0.08 {
			t.Errorf("where half a GPU gives the speed %v, %v is believed, and %v before", want, got, before)
		}
	}
}

// TestSpeedOfRunningJobs checks Speed and Coupled against Of, and that Speed does not allocate.
func TestSpeedOfRunningJobs(t *testing.T) {
	c, l := newToy(t, 2), NewSpeeds(true)
	a, b := c.submit(cluster.JobSpec{User: "ada", Request: amount(3)}), c.submit(cluster.JobSpec{User: "bob", Request: amount(3), Workers: 2})
	c.read(a, as(c.Spec(a), 3), 1)
	l.Read(&c.View, a)
	c.read(a, as(c.Spec(a), 6), 1.7)
	l.Read(&c.View, a)
	tx := c.Begin(nil)
	half := amount(4)
	half.GPUMilli = 500
	whole := amount(3)
	must.Do(t, tx.Place(b, cluster.Placement{{Server: 0, Workers: 1, Amount: half}, {Server: 1, Workers: 1, Amount: whole}}))
	must.Do(t, tx.Place(a, cluster.Placement{{Server: 0, Workers: 1, Amount: half}}))
	tx.End()
	for _, id := range []cluster.JobID{a, b} {
		at := c.Configuration(id)
		if mean, _ := l.Of(&c.View, c.Spec(id), &at); !at.Shared || l.Speed(&c.View, id) != math.Exp(mean) {
			t.Errorf("job %d has speed %v, want %v", id, l.Speed(&c.View, id), math.Exp(mean))
		}
		if n := testing.AllocsPerRun(100, func() { l.Speed(&c.View, id) }); n != 0 {
			t.Errorf("Speed allocates %v times", n)
		}
	}
	if got := l.Coupled(&c.View, c.Placement(a), nil); len(got) != 2 {
		t.Errorf("the placement of job %d is coupled to %v", a, got)
	}
	if got := l.Coupled(&c.View, c.Placement(b)[1:], nil); len(got) != 0 {
		t.Errorf("whole GPUs are coupled to %v", got)
	}
}

// TestMemoryOfSpeedsIsBounded checks that old circles and jobs are forgotten, and that the newest are kept.
func TestMemoryOfSpeedsIsBounded(t *testing.T) {
	const jobs = mostMeasured + 100
	learned := func(l *Speeds) (n int) {
		for _, j := range l.jobs {
			if j.Last > 0 {
				n++
			}
		}
		return n
	}
	c, l := newToy(t, jobs), NewSpeeds(true)
	for range jobs {
		id := c.submit(cluster.JobSpec{Group: fmt.Sprint("group ", c.n), Request: amount(3)})
		for _, cores := range []float64{3, 4} {
			c.read(id, as(c.Spec(id), cores), cores)
			l.Read(&c.View, id)
		}
		if id%8 == 0 {
			l.Version(c.Spec(id))
		}
		l.Version(&cluster.JobSpec{Name: fmt.Sprint("unread ", id), Request: amount(3)})
		if len(l.jobs) > 2*mostMeasured || id%100 == 0 && learned(l) > mostMeasured || len(l.circles) > mostCircles || len(l.units) > mostCircles || len(l.beliefs) > mostBelieved {
			t.Fatalf("%d jobs, %d circles, %d units, %d beliefs", len(l.jobs), len(l.circles), len(l.units), len(l.beliefs))
		}
		if l.circles[circle{}] == nil || l.circles[circle{ofGroup, c.Spec(id).Group}] == nil || l.jobs[c.Spec(id).Name] == nil {
			t.Fatalf("after job %d the newest are not there", id)
		}
	}
}

// BenchmarkRead reports the time of learning from a reading, and of that together with asking what is now believed of the job.
func BenchmarkRead(b *testing.B) {
	for name, after := range map[string]func(*Speeds, *cluster.JobSpec){
		"learn": func(*Speeds, *cluster.JobSpec) {}, "learn and ask": func(l *Speeds, spec *cluster.JobSpec) { l.Version(spec) },
	} {
		b.Run(name, func(b *testing.B) {
			l, c, n := NewSpeeds(true), newToy(b, 2000), 0
			for b.Loop() {
				if c.n == 2000 {
					c = newToy(b, 2000)
				}
				id := c.submit(cluster.JobSpec{User: fmt.Sprint(n % 50), Model: fmt.Sprint(n % 20), Group: fmt.Sprint(n % 300), Request: amount(3)})
				for _, cores := range []float64{3, 2, 6, 4} {
					n++
					c.read(id, as(c.Spec(id), cores), cores)
					l.Read(&c.View, id)
					after(l, c.Spec(id))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/reading")
		})
	}
}
