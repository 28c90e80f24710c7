package trace

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestThin checks that Thin keeps about the requested fraction, and that the jobs kept with a smaller fraction are a subset of
// those kept with a larger one, whichever other jobs there are.
func TestThin(t *testing.T) {
	w := must.Get(Generate(Default(), 20000, 1))(t)
	for _, keep := range []float64{0, .2, .7, 1} {
		thin := Thin(w, keep, 3)
		if got := float64(len(thin.Jobs)) / 20000; math.Abs(got-keep) > .015 || thin.Report.Jobs != len(thin.Jobs) {
			t.Errorf("keep %v: %v of the jobs, report %d", keep, got, thin.Report.Jobs)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		w := Workload{Jobs: drawJobs(t, 0)}
		seed := rapid.Uint64().Draw(t, "seed")
		less := rapid.SampledFrom([]float64{.1, .3, .5}).Draw(t, "keep")
		more := less + rapid.SampledFrom([]float64{0, .2, .5}).Draw(t, "more")
		few, many := Thin(w, less, seed), Thin(w, more, seed)
		if again := Thin(many, less, seed); !slices.Equal(again.Jobs, few.Jobs) {
			t.Fatalf("thinned twice\n%+v, once\n%+v", again.Jobs, few.Jobs)
		}
		if all := Thin(w, 1, seed); !slices.Equal(all.Jobs, w.Jobs) || len(Thin(w, 0, seed).Jobs) > 0 {
			t.Fatal("keeping all or none did not")
		}
	})
}

func TestMerge(t *testing.T) {
	read := func(text string) Workload {
		return must.Get(readText("job_id,num_gpu,submit_time,duration,user,tenant,group\n"+text, Options{}))(t)
	}
	a := read("10,1,100,1,ada,x,\n9,1,90,1,,y,\n")
	b := read("9,2,5,1,bob,x,\nz,2,7,1,ada,,nightly\n")
	before := slices.Clone(a.Jobs)
	for _, c := range []struct {
		what string
		ws   []Workload
		want string
	}{
		{"nothing", nil, ""},
		{"one", []Workload{a}, "0/9@0s:y 0/10@10s:ada:x"},
		{"users and tenants clash, groups do not", []Workload{a, b},
			"0/9@0s:0/y 0/10@10s:0/ada:0/x 1/9@0s:1/bob:1/x 1/z@2s:1/ada:nightly"},
		{"no names clash", []Workload{read("1,1,3,1,ada,x,g\n"), read("1,1,4,1,1/ada,z,h\n")}, "0/1@0s:ada:x:g 1/1@0s:1/ada:z:h"},
		{"the same twice", []Workload{b, b}, "0/9@0s:0/bob:0/x 0/z@2s:0/ada:0/nightly 1/9@0s:1/bob:1/x 1/z@2s:1/ada:1/nightly"},
	} {
		m := Merge("m", c.ws...)
		var got []string
		for _, j := range m.Jobs {
			text := fmt.Sprintf("%s@%v", j.Name, j.Submit)
			for _, s := range []string{j.User, j.Tenant, j.Group} {
				if s != "" {
					text += ":" + s
				}
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != c.want || m.Name != "m" || m.Report.Jobs != len(m.Jobs) || m.Report.Rows != len(m.Jobs) {
			t.Errorf("%s: %s, report %+v", c.what, strings.Join(got, " "), m.Report)
		}
	}
	if !slices.Equal(a.Jobs, before) {
		t.Error("a merged workload was changed")
	}
	if got := Merge("m", a, b).Report.Format; got != Native {
		t.Errorf("two native traces are %q", got)
	}
	if got := Merge("m", a, Workload{}).Report.Format; got != "" {
		t.Errorf("a native trace and a generated one are %q", got)
	}
}

// TestMergeRoundTrip checks that a merged workload can be written and read in the same order.
func TestMergeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		short := func(jobs []Job) []Job {
			return slices.DeleteFunc(jobs, func(j Job) bool { return len(j.Name)+len(j.User)+len(j.Tenant)+len(j.Group) > 250 })
		}
		m := Merge("m", Workload{Jobs: short(drawJobs(t, 0))}, Workload{Jobs: short(drawJobs(t, 0))})
		var out bytes.Buffer
		must.Do(t, WriteNative(&out, m.Jobs))
		again, err := readText(out.String(), Options{})
		if len(m.Jobs) == 0 && errors.Is(err, ErrNoJob) {
			return
		}
		if err != nil || !slices.Equal(again.Jobs, m.Jobs) {
			t.Fatalf("read\n%+v, %v, wrote\n%+v", again.Jobs, err, m.Jobs)
		}
	})
}

// TestClamp checks that a clamped gang is valid, not above the limit, and keeps its elastic range, stages and groups as far as
// possible.
func TestClamp(t *testing.T) {
	for _, c := range []struct {
		what string
		job  cluster.JobSpec
		most int32
		want string
	}{
		{"rigid", cluster.JobSpec{Workers: 9}, 4, "4 of 4-4 in 1x1"},
		{"elastic", cluster.JobSpec{Workers: 9, MinWorkers: 2, MaxWorkers: 18}, 4, "4 of 2-4 in 1x1"},
		{"elastic above the cut", cluster.JobSpec{Workers: 9, MinWorkers: 6}, 4, "4 of 4-4 in 1x1"},
		{"two stages of four", cluster.JobSpec{Workers: 32, Stages: 2, Tensor: 4}, 20, "16 of 16-16 in 2x4"},
		{"the stages do not fit", cluster.JobSpec{Workers: 32, Stages: 4, Tensor: 4}, 15, "12 of 12-12 in 1x4"},
		{"the groups do not fit either", cluster.JobSpec{Workers: 32, Stages: 2, Tensor: 8}, 7, "7 of 7-7 in 1x1"},
		{"to a single worker", cluster.JobSpec{Workers: 32, Stages: 2}, 1, "1 of 1-1 in 1x1"},
	} {
		w := Workload{Jobs: []Job{{JobSpec: c.job, Work: time.Hour}}}
		w.Jobs[0].Request.GPUMilli = cluster.WholeGPU
		cut := must.Get(Window(w, WindowSpec{MaxGPUs: c.most}))(t)
		j := cut.Jobs[0]
		got := fmt.Sprintf("%d of %d-%d in %dx%d", j.Workers, j.Least(), j.Most(), max(1, j.Stages), j.Together())
		if err := j.Validate(); got != c.want || err != nil {
			t.Errorf("%s: %s, %v, want %s", c.what, got, err, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int32Range(1, 100).Draw(t, "most")
		for _, j := range drawJobs(t, 1) {
			if j.Workers > most {
				clamp(&j, most)
				if err := j.Validate(); err != nil || j.Workers > most || j.Most() > most {
					t.Fatalf("cut to %d: %+v, %v", most, j, err)
				}
			}
		}
	})
}
