package cluster

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// measure adds readings of some running jobs.
func (m *machine) measure(t *rapid.T) {
	for _, id := range m.s.running {
		if rapid.IntRange(0, 2).Draw(t, "measure") == 0 {
			m.s.AddReading(id, Reading{m.s.Now(), rapid.Float64Range(1e-9, 1e9).Draw(t, "speed"), m.s.Configuration(id)})
		}
	}
}

// TestReadings checks which readings a job keeps: of each configuration the newest, ordered by time, and of very many
// configurations the newest. They outlast a preemption and the job's end.
func TestReadings(t *testing.T) {
	s := with(t, Uniform(1, 2), JobSpec{Workers: 2, Request: wholeGPU}, JobSpec{Workers: 1, Request: wholeGPU})
	place(t, s, 0, Placement{{0, 2, wholeGPU}})
	measure := func(at time.Duration, workers int32) {
		s.Advance(at)
		s.AddReading(0, Reading{At: at, Speed: 1 / at.Seconds(), Configuration: Configuration{Workers: workers}})
	}
	expect := func(when string, want ...int32) {
		t.Helper()
		var got []int32
		all := s.Readings(0)
		for i, r := range all {
			got = append(got, r.Workers)
			if i > 0 && r.At < all[i-1].At || r.Speed != 1/r.At.Seconds() {
				t.Errorf("%s: reading %d of %+v is out of order or of another", when, i, all)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: readings with %v workers, want %v", when, got, want)
		}
	}
	expect("at first")
	measure(1, 1)
	measure(2, 2)
	before := s.Readings(0)
	measure(3, 1)
	expect("one again", 2, 1)
	tx := s.Begin(nil)
	must.Do(t, tx.Preempt(0))
	tx.End()
	expect("preempted", 2, 1)
	place(t, s, 0, Placement{{0, 2, wholeGPU}})
	for w := range int32(MaxReadings) {
		measure(time.Duration(4+w), 3+w)
	}
	want := make([]int32, MaxReadings)
	for i := range want {
		want[i] = 3 + int32(i)
	}
	expect("with many configurations", want...)
	measure(100, 7)
	want = append(slices.DeleteFunc(want, func(w int32) bool { return w == 7 }), 7)
	s.Finish(0)
	expect("done", want...)
	if len(before) != 2 || before[0].Workers != 1 || before[1].Workers != 2 {
		t.Errorf("later readings changed an earlier list to %+v", before)
	}
	for name, r := range map[string]Reading{
		"earlier than the last": {At: 99, Speed: 1}, "in the future": {At: 101, Speed: 1}, "without speed": {At: 100},
		"infinite": {At: 100, Speed: math.Inf(1)}, "not a number": {At: 100, Speed: math.NaN()},
	} {
		if !panics(func() { s.AddReading(0, r) }) {
			t.Errorf("a reading that is %s is added", name)
		}
	}
}

func panics(do func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	do()
	return false
}

// TestConfiguration checks configurations that were worked out by hand.
func TestConfiguration(t *testing.T) {
	half := Amount{GPUMilli: 500, CPUMilli: 3, MemMiB: 4, GPUMemMiB: 9}
	less := Amount{GPUMilli: 600, CPUMilli: 2, MemMiB: 5, GPUMemMiB: 8}
	for _, c := range []struct {
		name  string
		spec  JobSpec
		place Placement
		want  Configuration
	}{
		{"one server", JobSpec{Workers: 2, Request: wholeGPU}, Placement{{1, 2, wholeGPU}},
			Configuration{2, wholeGPU, 1, 1, "B", false}},
		{"two of a rack", JobSpec{Workers: 3, Request: wholeGPU}, Placement{{1, 1, wholeGPU}, {2, 2, wholeGPU}},
			Configuration{3, wholeGPU, 2, 1, "B", false}},
		{"three in two racks, of two types", JobSpec{Workers: 3, Request: wholeGPU, Mixed: true},
			Placement{{3, 1, wholeGPU}, {2, 1, wholeGPU}, {1, 1, wholeGPU}}, Configuration{3, wholeGPU, 3, 2, "A|B", false}},
		{"no rack", JobSpec{Workers: 1, Request: wholeGPU}, Placement{{4, 1, wholeGPU}}, Configuration{1, wholeGPU, 1, 0, "A", false}},
		{"different amounts, beside another job", JobSpec{Workers: 2, Request: Amount{GPUMilli: 500}, Mixed: true},
			Placement{{0, 1, half}, {3, 1, less}}, Configuration{2, Amount{500, 2, 4, 8}, 2, 2, "A", true}},
		{"on the GPU beside that of another job", JobSpec{Workers: 2, Request: Amount{GPUMilli: 700}},
			Placement{{0, 2, Amount{GPUMilli: 700}}}, Configuration{2, Amount{GPUMilli: 700}, 1, 1, "A", false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := of(
				ServerSpec{GPUs: 3, GPUType: "A", Rack: 1}, ServerSpec{GPUs: 2, GPUType: "B", Rack: 2}, ServerSpec{GPUs: 2, GPUType: "B", Rack: 2},
				ServerSpec{GPUs: 1, GPUType: "A", Rack: 3}, ServerSpec{GPUs: 1, GPUType: "A"},
			)
			s := with(t, spec, JobSpec{Workers: 1, Request: Amount{GPUMilli: 400}}, c.spec)
			place(t, s, 0, Placement{{0, 1, Amount{GPUMilli: 400}}})
			place(t, s, 1, c.place)
			if got := s.Configuration(1); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if s.Sharing(0) != c.want.Shared {
				t.Errorf("the job beside it shares a GPU: %t, want %t", s.Sharing(0), c.want.Shared)
			}
		})
	}
}

// measured is a snapshot with readings of a running and of a waiting job.
const measured = `{"version": 1, "now_s": 100, "servers": [{"name": "a", "gpus": 2, "cpu_milli": null, "mem_mib": null}],
"jobs": [
{"id": "x", "submit_s": 1, "workers": 1, "state": "running", "placement": [{"server": "a", "workers": 1, "gpus": [1]}],
 "readings": [{"at_s": 60.5, "speed": 1.25e-3, "workers": 3, "gpu_milli": 500, "cpu_milli": 1, "mem_mib": 2, "gpu_mem_mib": 3,
  "servers": 2, "racks": 1, "gpu_type": "V100|T4", "shared": true}, {"at_s": 60.5, "speed": 7, "workers": 2}]},
{"id": "y", "submit_s": 2, "workers": 1, "state": "pending", "readings": [{"at_s": 100, "speed": 3, "workers": 1, "shared": false}]},
{"id": "z", "submit_s": 2, "workers": 1, "state": "pending", "readings": []}]}`

func TestReadSnapshotWithReadings(t *testing.T) {
	s := must.Get(ReadSnapshot(strings.NewReader(measured)))(t)
	for id, want := range [][]Reading{
		{
			{60500 * time.Millisecond, 1.25e-3, Configuration{3, Amount{500, 1, 2, 3}, 2, 1, "V100|T4", true}},
			{60500 * time.Millisecond, 7, Configuration{2, wholeGPU, 1, 0, "", false}},
		},
		{{100 * time.Second, 3, Configuration{1, wholeGPU, 1, 0, "", false}}},
		nil,
	} {
		if got := s.Readings(JobID(id)); !slices.Equal(got, want) {
			t.Errorf("job %d has the readings %+v, want %+v", id, got, want)
		}
	}
	many := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, `{"at_s": 0, "speed": 1, "workers": `+string(rune('1'+i%9))+`, "cpu_milli": `+string(rune('1'+i/9))+`}`)
		}
		return strings.Join(all, ",")
	}
	full := strings.Replace(measured, `"readings": []`, `"readings": [`+many(MaxReadings)+`]`, 1)
	if s, err := ReadSnapshot(strings.NewReader(full)); err != nil || len(s.Readings(2)) != MaxReadings {
		t.Errorf("error %v, want %d readings", err, MaxReadings)
	}
	for _, c := range []struct{ from, to, want string }{
		{`"speed": 7`, `"speed": 0`, `jobs[0].readings[1].speed: 0, want a number above 0`},
		{`"speed": 7`, `"speed": 1e999`, `jobs[0].readings[1].speed: 1e999, want a number above 0`},
		{`"speed": 7`, `"speed": "7"`, `jobs[0].readings[1].speed: "7", want a number above 0`},
		{`"speed": 7, `, ``, `jobs[0].readings[1].speed: missing`},
		{`"at_s": 100`, `"at_s": 100.1`, `jobs[1].readings[0].at_s: 100.1, want seconds from 0 to 100`},
		{`"at_s": 60.5, "speed": 7`, `"at_s": 60.4, "speed": 7`, `jobs[0].readings[1].at_s: 60.4, want the readings in the order`},
		{`"gpu_milli": 500`, `"gpu_milli": 0`, `jobs[0].readings[0].gpu_milli: 0, want a whole number from 1`},
		{`"servers": 2, `, `"servers": 0, `, `jobs[0].readings[0].servers: 0, want a whole number from 1`},
		{`"shared": true`, `"shared": 1`, `jobs[0].readings[0].shared: 1, want true or false`},
		{`"racks": 1`, `"racks": 1, "job": 1`, `jobs[0].readings[0].job: unknown field`},
		{`"readings": []`, `"readings": 7`, `jobs[2].readings: 7, want a list of at most 16`},
		{`"readings": []`, `"readings": [` + many(MaxReadings+1) + `]`, `jobs[2].readings[16]: `},
		{`"readings": []`, `"readings": [` + many(1) + `,` + many(1) + `]`, `jobs[2].readings[1].workers: 1, want another configuration`},
	} {
		refuse(t, measured, c.from, c.to, c.want)
	}
}

// TestWriteReadingsErrors checks that WriteSnapshot returns an error for a reading that the format cannot represent.
func TestWriteReadingsErrors(t *testing.T) {
	s := with(t, Uniform(1, 1), JobSpec{Workers: 1, Request: wholeGPU})
	s.AddReading(0, Reading{Speed: 1, Configuration: Configuration{Workers: 1, GPUType: "\n"}})
	const want = `write snapshot: job 0: reading 0: GPU type "\n": want a printable one`
	if err := s.WriteSnapshot(new(bytes.Buffer)); err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}
