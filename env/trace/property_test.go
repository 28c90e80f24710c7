package trace

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/rng"
	"pgregory.net/rapid"
)

// drawJobs draws any jobs that the native format can represent. All ids come from the same one of several kinds.
func drawJobs(t *rapid.T, atLeast int) []Job {
	id := rapid.SampledFrom([]*rapid.Generator[string]{
		rapid.StringMatching(`[0-9]{1,20}`), rapid.StringMatching(`[a-c" ,0-9-]{1,4}`), rapid.StringOf(rapid.Rune()),
	}).Draw(t, "ids")
	valid := func(s string) bool { return names.OK(s) }
	name := rapid.StringOf(rapid.Rune()).Filter(valid)
	when := rapid.OneOf(rapid.Int64Range(0, int64(maxTime)), rapid.Map(rapid.Int64Range(0, 9), func(s int64) int64 {
		return s * int64(time.Second)
	}))
	job := rapid.Custom(func(t *rapid.T) Job {
		j := Job{
			JobSpec: cluster.JobSpec{
				Name: id.Filter(func(s string) bool { return s != "" && valid(s) }).Draw(t, "id"),
				User: name.Draw(t, "user"), Tenant: name.Draw(t, "tenant"),
				Submit:  time.Duration(when.Draw(t, "submit")),
				Workers: rapid.Int32Range(1, maxWorkers).Draw(t, "workers"),
				Request: cluster.Amount{
					GPUMilli: rapid.Int32Range(1, cluster.WholeGPU).Draw(t, "gpu"),
					CPUMilli: rapid.Int32Range(0, maxMilli).Draw(t, "cpu"),
					MemMiB:   rapid.Int32Range(0, maxMilli).Draw(t, "mem"),

					GPUMemMiB: rapid.OneOf(rapid.Just(int32(0)), rapid.Int32Range(0, maxMilli)).Draw(t, "gpu mem"),
				},
				Model: name.Draw(t, "model"), Group: name.Draw(t, "group"),
				GPUType: rapid.SampledFrom([]string{"", "", "T4", "V100|T4", ` a,"b"| é`}).Draw(t, "gpu type"),
				Mixed:   rapid.Bool().Draw(t, "mixed"),
			},
			Work:   max(1, time.Duration(when.Draw(t, "work"))),
			Status: Status(rapid.IntRange(0, 3).Draw(t, "status")),
		}
		if j.Submit < maxTime && rapid.Bool().Draw(t, "due") {
			j.Deadline = time.Duration(rapid.Int64Range(int64(j.Submit)+1, int64(maxTime)).Draw(t, "deadline"))
		}
		j.Priority = rapid.SampledFrom([]int32{0, 0, 1, -7, mostPriority, leastPriority}).Draw(t, "priority")
		switch rapid.IntRange(0, 3).Draw(t, "roles") {
		case 0:
			j.MinWorkers = rapid.Int32Range(0, j.Workers).Draw(t, "min")
			j.MaxWorkers = rapid.SampledFrom([]int32{0, j.Workers, maxWorkers}).Draw(t, "max")
		case 1:
			j.Stages = rapid.Int32Range(0, 64).Draw(t, "stages")
			j.Tensor = rapid.Int32Range(0, 64).Draw(t, "tensor")
			j.Workers = int32(roles(&j)) * rapid.Int32Range(1, 200).Draw(t, "replicas")
		}
		return j
	})
	return rapid.SliceOfNDistinct(job, atLeast, 30, func(j Job) string { return j.Name }).Draw(t, "jobs")
}

// TestNativeRoundTrip checks that reading written jobs returns the same jobs in id order, and that writing these gives the same
// bytes.
func TestNativeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := rankByID(drawJobs(t, 1))
		var first, second bytes.Buffer
		must.Do(t, WriteNative(&first, jobs))
		w, err := readText(first.String(), Options{})
		if err != nil {
			t.Fatalf("%v in\n%s", err, first.String())
		}
		if !slices.Equal(w.Jobs, jobs) {
			t.Fatalf("read\n%+v, wrote\n%+v", w.Jobs, jobs)
		}
		if err := WriteNative(&second, w.Jobs); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("written again: %v\n%s\nfirst\n%s", err, second.String(), first.String())
		}
	})
}

// TestSecondsAreExact checks that converting times to decimal seconds and back is exact to the nanosecond.
func TestSecondsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(maxTime)).Draw(t, "ns"))
		text := string(appendSeconds(nil, d))
		if got, ok := parseSeconds(text); !ok || got != d {
			t.Fatalf("%d ns is written %s and read %d", d, text, got)
		}
		long := fmt.Sprintf("%d.%09d000", d/time.Second, d%time.Second)
		if got, ok := parseSeconds(long); !ok || got != d {
			t.Fatalf("%s is read %d", long, got)
		}
	})
}

func TestParseDecimal(t *testing.T) {
	for _, c := range []struct {
		text   string
		digits int
		want   int64
		ok     bool
	}{
		{"0.1", 9, 100_000_000, true},
		{"2750674.000000001", 9, 2750674_000_000_001, true},
		{"8.0", 0, 8, true},
		{".5", 3, 500, true},
		{"5.", 3, 5000, true},
		{"007", 0, 7, true},
		{"9223372036854775807", 0, math.MaxInt64, true},
		{"9223372036854775808", 0, 0, false},
		{"9223372037", 9, 0, false},
		{"8.5", 0, 0, false},
		{"", 9, 0, false}, {".", 9, 0, false}, {"+1", 9, 0, false}, {"-1", 9, 0, false},
		{"1e3", 9, 0, false}, {"0x1", 9, 0, false}, {"1_0", 9, 0, false}, {"1.2.3", 9, 0, false},
		{" 1", 9, 0, false}, {"١", 9, 0, false},
	} {
		if got, ok := parseDecimal(c.text, c.digits); ok != c.ok || ok && got != c.want {
			t.Errorf("%q to %d decimals: %d, %v, want %d, %v", c.text, c.digits, got, ok, c.want, c.ok)
		}
	}
}

// TestIDRank checks that jobs with integer ids are in numeric order, that others keep the order of the file, and that no job is
// lost.
func TestIDRank(t *testing.T) {
	for _, c := range []struct{ ids, want string }{
		{"10 9 8", "8 9 10"},
		{"10 9 x", "10 9 x"},
		{"-1 -10 3", "-10 -1 3"},
		{"2 02 1", "1 2 02"},
		{"9223372036854775808 1", "9223372036854775808 1"},
	} {
		var jobs []Job
		for id := range strings.FieldsSeq(c.ids) {
			jobs = append(jobs, Job{JobSpec: cluster.JobSpec{Name: id}})
		}
		var got []string
		for _, j := range rankByID(jobs) {
			got = append(got, j.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("ids %s rank as %v, want %s", c.ids, got, c.want)
		}
	}
}

// TestWindowsTileTheArrivals checks that disjoint windows of a workload contain its arrivals in order, each once, with times from
// 0 and otherwise unchanged.
func TestWindowsTileTheArrivals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Workload{Name: "w", Jobs: drawJobs(t, 1)}
		count := rapid.IntRange(1, len(w.Jobs)).Draw(t, "count")
		order := w.Arrivals()
		var specs []WindowSpec
		for start := 0; start+count <= len(w.Jobs); start += count {
			specs = append(specs, WindowSpec{Start: start, Count: count})
		}
		before := slices.Clone(w.Jobs)
		next := 0
		for _, spec := range specs {
			cut := must.Get(Window(w, spec))(t)
			zero := w.Jobs[order[next]].Submit
			for _, i := range cut.Arrivals() {
				want := w.Jobs[order[next]]
				if want.Submit -= zero; want.Deadline != 0 {
					want.Deadline -= zero
				}
				if cut.Jobs[i] != want {
					t.Fatalf("arrival %d is %+v, want %+v", next, cut.Jobs[i], want)
				}
				next++
			}
			if firstSubmit(cut.Jobs) != 0 || cut.Report.Jobs != count {
				t.Fatalf("window starts at %v with %d jobs", firstSubmit(cut.Jobs), cut.Report.Jobs)
			}
		}
		if !slices.Equal(w.Jobs, before) {
			t.Fatal("a window changed its workload")
		}
	})
}

// TestWindowByTimeAndCaps checks that a window by time contains exactly the jobs of that time, and that limits reduce larger jobs
// and count them.
func TestWindowByTimeAndCaps(t *testing.T) {
	w := Workload{Name: "w", Jobs: make([]Job, 10)}
	for i := range w.Jobs {
		w.Jobs[i].Name, w.Jobs[i].Submit = strconv.Itoa(i), time.Duration(9-i)*time.Hour
		w.Jobs[i].Workers, w.Jobs[i].Work = int32(i+1), time.Duration(i+1)*time.Minute
	}
	spec := WindowSpec{From: 2 * time.Hour, To: 6 * time.Hour, Start: 1, MaxDuration: 6 * time.Minute, MaxGPUs: 5}
	cut := must.Get(Window(w, spec))(t)
	var got []string
	for _, j := range cut.Jobs {
		got = append(got, fmt.Sprintf("%s at %v: %d x %v", j.Name, j.Submit, j.Workers, j.Work))
	}
	want := []string{"4 at 2h0m0s: 5 x 5m0s", "5 at 1h0m0s: 5 x 6m0s", "6 at 0s: 5 x 6m0s"}
	if !slices.Equal(got, want) || cut.Report.ClampedWork != 1 || cut.Report.ClampedWorkers != 2 {
		t.Errorf("got %q, clamped %d and %d, want %q, 1 and 2", got, cut.Report.ClampedWork, cut.Report.ClampedWorkers, want)
	}
	for _, bad := range []WindowSpec{
		{Start: -1}, {Count: -1}, {From: -1}, {From: 2, To: 1}, {MaxDuration: -1}, {MaxGPUs: -1},
		{Start: 10}, {Start: 9, Count: 2}, {Start: math.MaxInt, Count: math.MaxInt}, {From: time.Hour * 99},
	} {
		if _, err := Window(w, bad); err == nil {
			t.Errorf("window %+v was cut out of ten jobs", bad)
		}
	}
}

func TestOversize(t *testing.T) {
	var jobs []Job
	for i, workers := range []int32{1, 20, 4, 9} {
		var j Job
		j.Name, j.Workers, j.Request.GPUMilli = string(rune('a'+i)), workers, cluster.WholeGPU
		jobs = append(jobs, j)
	}
	upTo := func(n int32) func(*cluster.JobSpec) bool {
		return func(s *cluster.JobSpec) bool { return s.Workers <= n }
	}
	for _, c := range []struct {
		what    string
		mode    OversizeMode
		most    int32
		fits    int32
		want    string
		changed int
		err     string
	}{
		{"everything fits", "", 0, 20, "a1 b20 c4 d9", 0, ""},
		{"the first that does not fit is named", OversizeError, 0, 8, "", 0,
			"job b: 20 workers of 1000/1000 GPU, 0 CPU milli and 0 MiB never fit this cluster"},
		{"drop", OversizeDrop, 0, 8, "a1 c4", 2, ""},
		{"clamp", OversizeClamp, 8, 8, "a1 b8 c4 d8", 2, ""},
		{"clamped and still too large", OversizeClamp, 9, 8, "", 0,
			"job b: 20 workers of 1000/1000 GPU, 0 CPU milli and 0 MiB never fit this cluster"},
		{"clamp to nothing", OversizeClamp, 0, 8, "", 0, "clamp oversize jobs to 0 workers: want at least 1"},
		{"unknown mode", "split", 0, 8, "", 0, `oversize mode "split": want error, drop or clamp`},
	} {
		kept, changed, err := Oversize(jobs, upTo(c.fits), c.mode, c.most)
		var got []string
		for _, j := range kept {
			got = append(got, fmt.Sprint(j.Name, j.Workers))
		}
		var message string
		if err != nil {
			message = err.Error()
		}
		if strings.Join(got, " ") != c.want || changed != c.changed || message != c.err {
			t.Errorf("%s: %v, %d changed, %q", c.what, got, changed, message)
		}
	}
	if jobs[1].Workers != 20 {
		t.Error("the jobs given were changed")
	}
}

func TestEstimates(t *testing.T) {
	w := must.Get(Generate(Default(), 4000, 1))(t)
	apply := func(e Estimates, seed uint64) []Job {
		jobs := slices.Clone(w.Jobs)
		must.Do(t, e.Apply(jobs, rng.Stream(seed)))
		return jobs
	}
	for i, j := range apply(Estimates{Kind: Oracle}, 1) {
		if j.Estimate != w.Jobs[i].Work {
			t.Fatalf("oracle estimate %v of %v", j.Estimate, j.Work)
		}
	}
	for _, j := range apply(Estimates{}, 1) {
		if j.Estimate != 0 {
			t.Fatalf("estimate %v though nothing is known", j.Estimate)
		}
	}
	noisy := Estimates{Kind: Noisy, Sigma: .5}
	jobs := apply(noisy, 1)
	if !slices.Equal(jobs, apply(noisy, 1)) || slices.Equal(jobs, apply(noisy, 2)) {
		t.Error("noisy estimates do not follow the seed")
	}
	var logs []float64
	for _, j := range jobs {
		logs = append(logs, math.Log(j.Estimate.Seconds()/j.Work.Seconds()))
	}
	if mean, sd := meanSD(logs); math.Abs(mean) > .03 || math.Abs(sd-.5) > .03 {
		t.Errorf("log error has mean %.3f and deviation %.3f, want 0 and 0.5", mean, sd)
	}
	for _, bad := range []Estimates{{Kind: "guess"}, {Sigma: -1}, {Sigma: math.NaN()}} {
		if bad.Apply(nil, nil) == nil {
			t.Errorf("%+v was applied", bad)
		}
	}
}

func TestDescribe(t *testing.T) {
	if s := Describe(nil); s.Jobs != 0 || s.Load(8) != 0 || median(s) != 0 {
		t.Errorf("no jobs: %+v", s)
	}
	w, err := readText("job_id,num_gpu,submit_time,duration,user,tenant,gpu_milli,status\n"+
		"a,8,86400,3600,u,x,,passed\nb,1,0,7200,v,x,500,failed\nc,1,7200,1800,u,x,,\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := Describe(w.Jobs)
	if s.Jobs != 3 || s.Fractional != 1 || s.Span != 24*time.Hour || s.GPUHours != 9.5 || s.Users != 2 || s.Tenants != 1 ||
		s.Max != 7200 || median(s) != time.Hour || s.Mean != 4200 || s.Statuses != [4]int{1, 1, 1, 0} {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(s.PerDay, []int{2, 1}) || !slices.Equal(s.Gangs, []Gang{{1, 2, 1.5}, {8, 1, 8}}) {
		t.Errorf("per day %v, gangs %v", s.PerDay, s.Gangs)
	}
	if got := s.Load(10); math.Abs(got-9.5/240) > 1e-12 {
		t.Errorf("load %v", got)
	}
	// The gaps are 2 and 22 hours: mean 12, standard deviation 10.
	if math.Abs(s.ArrivalCV-10.0/12) > 1e-12 {
		t.Errorf("variation of the gaps %v", s.ArrivalCV)
	}
	fast, err := w.Rescale(.5, 10)
	if err != nil || math.Abs(Describe(fast.Jobs).Load(10)-.5) > 1e-6 {
		t.Errorf("rescaled to load %v, %v", Describe(fast.Jobs).Load(10), err)
	}
	if _, err := w.Rescale(0, 10); err == nil {
		t.Error("rescaled to no load")
	}
}

// median returns the median Work by nearest rank, 0 without jobs.
func median(s Stats) time.Duration {
	for _, q := range s.Durations {
		if q.P == .5 {
			return time.Duration(q.Seconds * float64(time.Second))
		}
	}
	return 0
}

func meanSD(x []float64) (mean, sd float64) {
	if len(x) == 0 {
		return 0, 0
	}
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(len(x)))
}
