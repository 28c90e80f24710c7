package trace

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// fullMix returns a mix in which every field is set.
func fullMix() Mix {
	return Mix{
		Classes: []Class{
			{UpTo: 1, Models: []Weighted{{Model: "resnet18", Weight: 3, GPUMemMiB: 2048}, {Model: "neumf", Weight: 1}}},
			{UpTo: 100, Models: []Weighted{{Model: "bert", Weight: 1, GPUMemMiB: 10240}}},
			{Models: []Weighted{{Model: "gpt", Weight: 1, GPUMemMiB: 15000, Parallel: true}, {Model: "bert", Weight: 1}}},
		},
		Elastic: .5, Least: .5, Fungible: .21, Mixed: .5, Home: "V100", Parallel: .5, Recurring: .4,
		CPUMilli: 4000, MemMiB: 16384,
	}
}

// drawMix draws any valid mix.
func drawMix(t *rapid.T) Mix {
	share := rapid.OneOf(rapid.SampledFrom([]float64{0, .5, 1}), rapid.Float64Range(0, 1))
	m := Mix{
		Elastic: share.Draw(t, "elastic"), Least: rapid.Float64Range(.001, 1).Draw(t, "least"),
		Fungible: share.Draw(t, "fungible"),
		Mixed:    share.Draw(t, "mixed"), Home: rapid.SampledFrom([]string{"", "V100", "V100|T4"}).Draw(t, "home"),
		Parallel: share.Draw(t, "parallel"), Recurring: share.Draw(t, "recurring"),
		CPUMilli: rapid.Int32Range(0, maxMilli).Draw(t, "cpu"), MemMiB: rapid.Int32Range(0, maxMilli).Draw(t, "mem"),
	}
	n := rapid.IntRange(0, 4).Draw(t, "classes")
	for i := range n {
		c := Class{UpTo: math.Pow(10, float64(i))}
		if i == n-1 {
			c.UpTo = 0
		}
		for k := range rapid.IntRange(0, 3).Draw(t, "models") {
			c.Models = append(c.Models, Weighted{Model: fmt.Sprint("m", k), Weight: rapid.Float64Range(.01, 9).Draw(t, "weight"),
				GPUMemMiB: rapid.Int32Range(0, maxMilli).Draw(t, "gpu mem"), Parallel: rapid.Bool().Draw(t, "parallel")})
		}
		m.Classes = append(m.Classes, c)
	}
	must.Do(t, m.Validate())
	return m
}

func (m *Mix) applied(jobs []Job, seed uint64) []Job {
	jobs = slices.Clone(jobs)
	m.Apply(jobs, seed)
	return jobs
}

// TestMixAnyJobs checks for any jobs and mix: jobs stay valid, properties from the trace do not change, a second Apply changes
// nothing, and the draws of a job do not depend on the other jobs or their order.
func TestMixAnyJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, m, seed := drawJobs(t, 0), drawMix(t), rapid.Uint64().Draw(t, "seed")
		for i := range jobs { // most traces lack the other properties
			if rapid.Bool().Draw(t, "bare") {
				s := &jobs[i].JobSpec
				*s = cluster.JobSpec{Name: s.Name, User: s.User, Tenant: s.Tenant, Submit: s.Submit,
					Workers: rapid.SampledFrom([]int32{1, 2, 6, 8, 64}).Draw(t, "gang"), Request: cluster.Amount{GPUMilli: 1000}}
			}
		}
		mixed := m.applied(jobs, seed)
		for i := range mixed {
			was, is := &jobs[i], &mixed[i]
			must.Do(t, checkNative(is))
			kept := func(field string, was, is any, zero bool) {
				if !zero && was != is {
					t.Fatalf("job %s: %s was %v, is %v", jobs[i].Name, field, was, is)
				}
			}
			kept("model", was.Model, is.Model, was.Model == "")
			kept("group", was.Group, is.Group, was.Group == "")
			kept("GPU type", was.GPUType, is.GPUType, was.GPUType == "")
			kept("mixed", was.Mixed, is.Mixed, was.GPUType == "" && !was.Mixed)
			ranged := was.MinWorkers != 0 || was.MaxWorkers != 0 || was.Stages != 0 || was.Tensor != 0
			kept("range", [4]int32{was.MinWorkers, was.MaxWorkers, was.Stages, was.Tensor},
				[4]int32{is.MinWorkers, is.MaxWorkers, is.Stages, is.Tensor}, !ranged)
			kept("CPU", was.Request.CPUMilli, is.Request.CPUMilli, was.Request.CPUMilli == 0)
			kept("memory", was.Request.MemMiB, is.Request.MemMiB, was.Request.MemMiB == 0)
			kept("GPU memory", was.Request.GPUMemMiB, is.Request.GPUMemMiB, was.Request.GPUMemMiB == 0)
			if is.Dealt != (was.Group == "" && is.Group != "") {
				t.Fatalf("job %s: group %q became %q, dealt %v", was.Name, was.Group, is.Group, is.Dealt)
			}
			same := *is
			same.JobSpec, same.Dealt = was.JobSpec, false
			if same != *was || is.Submit != was.Submit || is.Workers != was.Workers || is.User != was.User {
				t.Fatalf("job %s was %+v, is %+v", was.Name, *was, *is)
			}
		}
		if again := m.applied(mixed, seed); !slices.Equal(again, mixed) {
			t.Fatalf("applied twice\n%+v, once\n%+v", again, mixed)
		}
		var some, want []Job
		for i := range jobs {
			if rapid.Bool().Draw(t, "keep") {
				some, want = append(some, jobs[i]), append(want, mixed[i])
			}
		}
		slices.Reverse(some)
		slices.Reverse(want)
		for i := range some {
			some[i].Submit /= 2
			want[i].Submit /= 2
		}
		if got := m.applied(some, seed); !slices.Equal(got, want) {
			t.Fatalf("among other jobs\n%+v, want\n%+v", got, want)
		}
	})
}

// TestMixSharesAreIndependent checks that raising one fraction changes only its own field, and only towards more jobs.
func TestMixSharesAreIndependent(t *testing.T) {
	w := must.Get(Generate(Default(), 3000, 1))(t)
	m := fullMix()
	before := m.applied(w.Jobs, 7)
	if slices.Equal(before, m.applied(w.Jobs, 8)) {
		t.Error("another seed changes nothing")
	}
	for _, c := range []struct {
		share string
		raise func(*Mix)
		hide  func(*Job) // resets the fields that may differ
		more  func(was, is *Job) bool
	}{
		{"elastic", func(m *Mix) { m.Elastic = .8 }, func(j *Job) { j.MinWorkers, j.MaxWorkers = 0, 0 },
			func(was, is *Job) bool { return was.MaxWorkers <= is.MaxWorkers && was.MinWorkers <= is.MinWorkers }},
		{"fungible", func(m *Mix) { m.Fungible = .8 }, func(j *Job) { j.GPUType, j.Mixed = "", false },
			func(was, is *Job) bool { return len(is.GPUType) <= len(was.GPUType) && (is.Mixed || !was.Mixed) }},
		{"mixed", func(m *Mix) { m.Mixed = .8 }, func(j *Job) { j.Mixed = false },
			func(was, is *Job) bool { return is.Mixed || !was.Mixed }},
		{"parallel", func(m *Mix) { m.Parallel = .8 },
			func(j *Job) { j.Stages, j.Tensor, j.MinWorkers, j.MaxWorkers = 0, 0, 0, 0 },
			func(was, is *Job) bool { return was.Stages <= is.Stages && was.Tensor <= is.Tensor }},
		{"recurring", func(m *Mix) { m.Recurring = .8 },
			// A new run of a group gets the group's model, and the fields that depend on the model.
			func(j *Job) {
				j.Group, j.Dealt, j.Model, j.Request.GPUMemMiB = "", false, "", 0
				j.Stages, j.Tensor, j.MinWorkers, j.MaxWorkers = 0, 0, 0, 0
			},
			func(was, is *Job) bool { return was.Group == "" || was.JobSpec == is.JobSpec }},
	} {
		m := fullMix()
		c.raise(&m)
		changed := 0
		after := m.applied(w.Jobs, 7)
		for i := range after {
			was, is := before[i], after[i]
			if was != is {
				changed++
			}
			if !c.more(&was, &is) {
				t.Fatalf("%s raised: %+v became %+v", c.share, was, is)
			}
			c.hide(&was)
			c.hide(&is)
			if was != is {
				t.Fatalf("%s raised: something else changed: %+v became %+v", c.share, was, is)
			}
		}
		if changed < 20 {
			t.Errorf("%s raised: %d jobs changed", c.share, changed)
		}
	}
}

// TestMixShares checks that the fractions and weights of the result are those of the mix, each among the jobs to which it
// applies.
func TestMixShares(t *testing.T) {
	w := must.Get(Generate(Default(), 20000, 3))(t)
	m := fullMix()
	jobs := m.applied(w.Jobs, 1)
	var resnet, elastic, growing, fungible, mixed, parallel, recurring count
	pairs := map[[2]int32]int{}
	for i := range jobs {
		j := &jobs[i]
		hours := gpus(j) * j.Work.Hours()
		class := 2
		if hours <= 1 {
			class = 0
		} else if hours <= 100 {
			class = 1
		}
		if !slices.ContainsFunc(m.Classes[class].Models, func(w Weighted) bool { return w.Model == j.Model }) {
			t.Fatalf("%v GPU-hours train %q", hours, j.Model)
		}
		recurring.add(j.Group != "")
		if class == 0 && j.Group == "" {
			resnet.add(j.Model == "resnet18")
		}
		cuttable := j.Model == "gpt" && j.Workers%2 == 0
		if cuttable {
			parallel.add(roles(j) > 1)
		}
		if roles(j) > 1 {
			pairs[[2]int32{j.Stages, j.Tensor}]++
			if !cuttable || j.Least() != j.Most() || j.Tensor > 8 || j.Stages > 16 {
				t.Fatalf("cut %+v", j)
			}
			continue
		}
		if j.Workers > 1 {
			elastic.add(j.Most() > j.Workers)
			if j.Most() > j.Workers && (j.MinWorkers != (j.Workers+1)/2 || j.MaxWorkers != 2*j.Workers) {
				t.Fatalf("a gang of %d runs with %d to %d", j.Workers, j.MinWorkers, j.MaxWorkers)
			}
		} else {
			growing.add(j.MinWorkers == 1 && j.MaxWorkers == 2)
		}
		fungible.add(j.GPUType == "")
		if j.GPUType == "" {
			mixed.add(j.Mixed)
		} else if j.GPUType != "V100" || j.Mixed {
			t.Fatalf("bound to %q, mixed %v", j.GPUType, j.Mixed)
		}
	}
	for _, c := range []struct {
		share string
		got   count
		want  float64
	}{
		{"resnet18 of the small", resnet, .75}, {"elastic of the gangs", elastic, .5}, {"growing of the single", growing, .5},
		{"fungible", fungible, .21}, {"mixed of the fungible", mixed, .5}, {"recurring", recurring, .4},
	} {
		// The tolerance is four standard deviations of a fraction of independent draws.
		if tolerance := 4 * math.Sqrt(c.want*(1-c.want)/float64(c.got.of)); math.Abs(c.got.share()-c.want) > tolerance {
			t.Errorf("%s: %.3f of %d, want %v +- %.3f", c.share, c.got.share(), c.got.of, c.want, tolerance)
		}
	}
	if parallel.share() < .35 || parallel.share() > .65 || len(pairs) < 10 {
		t.Errorf("parallel: %.3f of %d, in %v", parallel.share(), parallel.of, pairs)
	}
}

type count struct{ n, of int }

func (c *count) add(yes bool) {
	c.of++
	if yes {
		c.n++
	}
}

func (c count) share() float64 { return float64(c.n) / float64(max(c.of, 1)) }

// TestMixGroups checks that the runs of a group have the same user, size, class and model, and the same stages and tensor
// parallelism.
func TestMixGroups(t *testing.T) {
	w := must.Get(Generate(Default(), 5000, 5))(t)
	m := fullMix()
	m.Recurring, m.Parallel = 1, 1
	type kind struct {
		user           string
		workers, class int32
		model          string
		stages, tensor int32
		gpuMem         int32
	}
	groups := map[string]kind{}
	sizes := map[string]int{}
	for _, j := range m.applied(w.Jobs, 2) {
		k := kind{j.User, j.Workers, int32(m.class(&j)), j.Model, j.Stages, j.Tensor, j.Request.GPUMemMiB}
		if j.Group == "" {
			t.Fatalf("job %s of user %s is of no group", j.Name, j.User)
		}
		if seen, ok := groups[j.Group]; ok && seen != k {
			t.Fatalf("group %s has %+v and %+v", j.Group, seen, k)
		}
		groups[j.Group] = k
		sizes[j.Group]++
	}
	if len(groups) < 100 || len(groups) > 4000 {
		t.Errorf("%d groups", len(groups))
	}
	for _, c := range []struct{ user, tenant, want string }{
		{"ada", "t", "ada/8/1"}, {"", "t", "t/8/1"}, {"", "", ""},
		{strings.Repeat("é", 128), "", strings.Repeat("é", 100) + "/8/1"},
	} {
		j := Job{JobSpec: cluster.JobSpec{User: c.user, Tenant: c.tenant, Workers: 8}}
		if got := groupOf(map[groupKey]string{}, &j, 1); got != c.want {
			t.Errorf("user %q of tenant %q: group %q, want %q", c.user, c.tenant, got, c.want)
		}
	}
}

// TestMixRules checks the rules of Mix on single jobs.
func TestMixRules(t *testing.T) {
	job := func(workers, milli int32) Job {
		return Job{JobSpec: cluster.JobSpec{Name: "a", Workers: workers, Request: cluster.Amount{GPUMilli: milli}}, Work: time.Hour}
	}
	all := Mix{Elastic: 1, Least: .5, Parallel: 1, CPUMilli: 4000, MemMiB: 1000, Classes: []Class{{}}}
	large := all
	large.Classes = []Class{{UpTo: 8}, {Models: []Weighted{{Model: "gpt", Weight: 1, Parallel: true}}}}
	named := func(j Job, model string) Job { j.Model = model; return j }
	for _, c := range []struct {
		what string
		mix  Mix
		job  Job
		want string
	}{
		{"a gang of three", all, job(3, 1000), "2-6 1x1 4000 1000"},
		{"a single GPU may only grow", all, job(1, 1000), "1-2 1x1 4000 1000"},
		{"a share of a GPU stays rigid, with its share of CPU and memory", all, job(1, 250), "1-1 1x1 1000 250"},
		{"rounding alone decides nothing", Mix{Elastic: 1, Least: .07}, job(100, 1000), "7-200 1x1 0 0"},
		{"at most as many as a trace may ask for", Mix{Elastic: 1, Least: 1}, job(1<<19, 1000), "524288-1048576 1x1 0 0"},
		{"a class without models", large, job(8, 1000), "4-16 1x1 4000 1000"},
		{"a cut gang is rigid", large, job(10, 1000), "10-10 1x2 4000 1000"},
		{"an odd gang cannot be cut and may be elastic", large, job(9, 1000), "5-18 1x1 4000 1000"},
		{"a model that the trace names is known from another class", large, named(job(2, 1000), "gpt"), "2-2 1x2 4000 1000"},
	} {
		must.Do(t, c.mix.Validate())
		j := c.mix.applied([]Job{c.job}, 4)[0]
		got := fmt.Sprintf("%d-%d %dx%d %d %d", j.Least(), j.Most(), max(j.Stages, 1), j.Together(), j.Request.CPUMilli,
			j.Request.MemMiB)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	var zero Mix
	before := []Job{job(3, 1000), job(1, 250)}
	if after := zero.applied(before, 1); !slices.Equal(before, after) {
		t.Errorf("no mix makes of %+v\n%+v", before, after)
	}
}

// TestMixValidate checks that Validate reports every mistake with its field, its value and what was expected, and that the fields
// have the same names in YAML.
func TestMixValidate(t *testing.T) {
	full := fullMix()
	if err := full.Validate(); err != nil {
		t.Error(err)
	}
	text := `{elastic: 2, least: 0, fungible: -1, mixed: .nan, home: "A||B", parallel: 1.5, recurring: .inf, cpu_milli: -1,
mem_mib: -2, classes: [{up_to: 5, models: [{model: "", weight: 0, gpu_mem_mib: -3, parallel: true}]}, {up_to: 5},
{up_to: 9, models: [{model: a, weight: 1}, {model: a, weight: .inf}]}]}`
	const want = `mix.elastic 2, want a share from 0 to 1
mix.least 0, want above 0 and at most 1 where elastic is not 0
mix.fungible -1, want a share from 0 to 1
mix.mixed NaN, want a share from 0 to 1
mix.home "A||B", want GPU types separated by '|', none empty or twice
mix.parallel 1.5, want a share from 0 to 1
mix.recurring +Inf, want a share from 0 to 1
mix.cpu_milli -1, want 0 to 1073741824
mix.mem_mib -2, want 0 to 1073741824
mix.classes[0].models[0].model "", want at most 256 bytes of printable UTF-8
mix.classes[0].models[0].weight 0, want above 0 and at most 1e9
mix.classes[0].models[0].gpu_mem_mib -3, want 0 to 1073741824
mix.classes[1].up_to 5, want a number above 5
mix.classes[2].up_to 9, want 0 for the last, which holds the rest
mix.classes[2].models[1].model "a", want each model once in a class
mix.classes[2].models[1].weight +Inf, want above 0 and at most 1e9`
	var m Mix
	decode := yaml.NewDecoder(strings.NewReader(text))
	decode.KnownFields(true)
	must.Do(t, decode.Decode(&m))
	if err := m.Validate(); err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}
