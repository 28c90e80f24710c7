package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// readText reads a trace from a string.
func readText(text string, opt Options) (Workload, error) {
	r, err := NewReader(strings.NewReader(text), "t.csv", opt)
	if err != nil {
		return Workload{}, err
	}
	return r.Workload()
}

// TestRealTraces checks that the counts and loads of the real traces are those that their documentation gives. Two numbers seem
// to differ from it. philly-pass has 15 virtual clusters in all 82,247 rows of the original, of which 12 occur in the shared
// part. openb has 4,869 pods that were ever scheduled: 5,353 rows minus 484, and 737 of these pods ask for no GPU.
func TestRealTraces(t *testing.T) {
	for _, c := range []struct {
		path    string
		opt     Options
		format  Format
		rows    int
		jobs    int
		cpuOnly int
		never   int
		days    float64
		gang    int32 // the largest
		users   int
		tenants int
		gpus    int
		load    float64
		single  int    // jobs of one worker
		status  [4]int // unknown, passed, failed, killed
		longest time.Duration
	}{
		{"helios-venus-2020-06/helios_data_training.csv.gz", Options{Format: Helios}, Helios,
			15000, 10796, 4204, 0, 20.2, 160, 95, 0, 1022, .72, 5939, [4]int{0, 5378, 2043, 3375}, 1_964_673 * time.Second},
		{"philly-2017-allstatus/philly_data_training.csv.gz", Options{Format: PhillyAll}, PhillyAll,
			15000, 15000, 0, 0, 57.6, 48, 136, 0, 2490, .22, 11963,
			[4]int{0, 8538, 4509, 1953}, 5_199_751 * time.Second},
		{"philly-2017-pass/philly.csv.gz", Options{}, PhillyPass, 54223, 54223, 0, 0, 40.0, 32, 0, 12, 545, 1, 51054,
			[4]int{0, 54223, 0, 0}, 2_750_674 * time.Second},
		{"acme-kalos-2023/converted_kalos_trace.csv.gz", Options{}, Kalos, 229, 229, 0, 0, 59.3, 1024, 0, 0, 2416, .10, 28,
			[4]int{0, 229, 0, 0}, 625_740 * time.Second},
		{"alibaba-openb-2023/openb_pod_list_default.csv.gz", Options{}, OpenB, 5353, 4132, 737, 484, 140, 8, 0, 0, 6212, .002,
			4082, [4]int{2624, 129, 1379, 0}, 12_537_496 * time.Second},
		{"alibaba-openb-2023/openb_pod_list_gpuspec33.csv.gz", Options{}, OpenB, 5353, 4132, 737, 484, 140, 8, 0, 0, 6212, .002,
			4082, [4]int{2624, 129, 1379, 0}, 12_537_496 * time.Second},
	} {
		w, err := Read(filepath.Join(sharedtest.Dir(t), "traces", c.path), c.opt)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		want := Report{Format: c.format, Rows: c.rows, Jobs: c.jobs}
		if got := w.Report; got.Format != want.Format || got.Rows != want.Rows || got.Jobs != want.Jobs ||
			got.CPUOnly() != c.cpuOnly || got.NeverScheduled() != c.never || got.Bad != 0 {
			t.Errorf("%s: report %+v, want %+v", c.path, got, want)
		}
		s := Describe(w.Jobs)
		if s.Jobs != c.jobs || s.Users != c.users || s.Tenants != c.tenants || s.Gangs[len(s.Gangs)-1].Workers != c.gang {
			t.Errorf("%s: %d jobs of %d users and %d tenants, gangs to %d", c.path, s.Jobs, s.Users, s.Tenants,
				s.Gangs[len(s.Gangs)-1].Workers)
		}
		if s.Gangs[0].Workers != 1 || s.Gangs[0].Jobs != c.single || s.Statuses != c.status || s.Max != c.longest.Seconds() {
			t.Errorf("%s: %d jobs of %d workers, statuses %v, longest %v s", c.path, s.Gangs[0].Jobs, s.Gangs[0].Workers, s.Statuses,
				s.Max)
		}
		if math.Abs(s.Days()-c.days) > .06 {
			t.Errorf("%s: %.2f days, want %v", c.path, s.Days(), c.days)
		}
		if got := s.Load(c.gpus); math.Abs(got-c.load) > .006 {
			t.Errorf("%s: load %.4f on %d GPUs, want %v", c.path, got, c.gpus, c.load)
		}
		logs := 0.0
		for i := range w.Jobs {
			if err := w.Jobs[i].Validate(); err != nil || w.Jobs[i].Work <= 0 {
				t.Fatalf("%s: job %d: work %v, %v", c.path, i, w.Jobs[i].Work, err)
			}
			logs += math.Log(w.Jobs[i].Work.Minutes())
		}
		mean := math.Exp(logs / float64(len(w.Jobs)))
		t.Logf("%s: geometric mean of the durations %.1f min", c.path, mean)
		if ratio := mean / FirstGuess.Minutes(); ratio < .5 || ratio > 2 {
			t.Errorf("%s: the first guess %v is off by %v", c.path, FirstGuess, ratio)
		}
		if firstSubmit(w.Jobs) != 0 {
			t.Errorf("%s: first submit at %v, want 0", c.path, firstSubmit(w.Jobs))
		}
	}
}

func TestRealTraceDetails(t *testing.T) {
	dir := filepath.Join(sharedtest.Dir(t), "traces")
	helios := must.Get(Read(filepath.Join(dir, "helios-venus-2020-06/helios_data_training.csv.gz"), Options{Format: Helios}))(t)
	// Rows of CPU-only jobs advance the clock: the second row comes 94 s after the first, and the third 151 s after the second.
	if got := helios.Jobs[2].Submit; got != 245*time.Second {
		t.Errorf("helios: third job submits at %v, want 245s", got)
	}
	philly := must.Get(Read(filepath.Join(dir, "philly-2017-allstatus/philly_data_training.csv.gz"), Options{Format: PhillyAll}))(t)
	dense := must.Get(Window(philly, WindowSpec{From: 45 * 24 * time.Hour}))(t)
	d := Describe(dense.Jobs)
	if d.Jobs != 14351 || math.Abs(d.Load(2490)-.55) > .006 {
		t.Errorf("philly from day 45 on: %d jobs, load %.3f, want 14351 and 0.55", d.Jobs, d.Load(2490))
	}
	// 1,534 of its 5,353 rows (29 %) list GPU types. Of the 4,132 jobs, 1,374 do, which are the 33 % in its name. A few list a
	// type twice.
	plain := must.Get(Read(filepath.Join(dir, "alibaba-openb-2023/openb_pod_list_default.csv.gz"), Options{}))(t)
	typed := must.Get(Read(filepath.Join(dir, "alibaba-openb-2023/openb_pod_list_gpuspec33.csv.gz"), Options{}))(t)
	types := []string{"A10", "G2", "G3", "P100", "T4", "V100M16", "V100M32"} // of openb's nodes
	named, t4 := 0, 0
	for i, j := range typed.Jobs {
		if j.GPUType != "" {
			named++
			for name := range strings.SplitSeq(j.GPUType, "|") {
				if !slices.Contains(types, name) {
					t.Errorf("openb: job %s wants %q, a type that no node has", j.Name, j.GPUType)
				}
			}
		}
		if j.GPUType == "T4" {
			t4++
		}
		j.GPUType = ""
		if j != plain.Jobs[i] {
			t.Fatalf("openb: job %d is %+v with types and %+v without", i, j, plain.Jobs[i])
		}
	}
	if named != 1374 || t4 != 756 {
		t.Errorf("openb: %d jobs name GPU types, %d of them T4 alone, want 1374 and 756", named, t4)
	}
}

// TestFormats checks units, clocks and skipped rows of every format on a few rows.
func TestFormats(t *testing.T) {
	gpu := func(cpu, mem int32) cluster.Amount { return cluster.Amount{GPUMilli: 1000, CPUMilli: cpu, MemMiB: mem} }
	spec := func(name string, submit time.Duration, workers int32, a cluster.Amount) cluster.JobSpec {
		return cluster.JobSpec{Name: name, Submit: submit, Workers: workers, Request: a}
	}
	typed := func(s cluster.JobSpec, types string) cluster.JobSpec {
		s.GPUType = types
		return s
	}
	named := func(s cluster.JobSpec, user, tenant string) cluster.JobSpec {
		s.User, s.Tenant = user, tenant
		return s
	}
	for _, c := range []struct {
		what string
		opt  Options
		text string
		want []Job
	}{
		{"native without options, sorted by integer id", Options{},
			"job_id,num_gpu,submit_time,duration\n10,2,0.000000001,1.5\n9,1,3,0.1\n",
			[]Job{
				{spec("9", 3*time.Second, 1, gpu(0, 0)), 100 * time.Millisecond, Unknown, false},
				{spec("10", 1, 2, gpu(0, 0)), 1500 * time.Millisecond, Unknown, false},
			}},
		{"native with columns in any order, in the order of the file", Options{},
			"\ufeffstatus,duration,user,num_gpu,gpu_milli,mem_mib,tenant,submit_time,job_id,cpu_milli\r\n" +
				"killed,60,\"a, \"\"b\"\"\",1,250,512,t,7,b,1500\r\n\r\n,1,,1,,,,7,a,",
			[]Job{
				{named(spec("b", 7*time.Second, 1, cluster.Amount{GPUMilli: 250, CPUMilli: 1500, MemMiB: 512}), `a, "b"`, "t"),
					time.Minute, Killed, false},
				{spec("a", 7*time.Second, 1, gpu(0, 0)), time.Second, Unknown, false},
			}},
		{"native: what a job is beyond its size", Options{},
			nativeHead[:len(nativeHead)-1] + ",min_workers,max_workers,model,group,stages,tensor,gpu_type,mixed,gpu_mem_mib\n" +
				"a,4,0,1,2,8,resnet50,nightly,,,V100|T4,true,4096\nb,32,0,1,,,gpt,,2,8,V100,false,\nc,0,0,1,2,,,,,,,,\n",
			[]Job{
				{cluster.JobSpec{Name: "a", Workers: 4, MinWorkers: 2, MaxWorkers: 8, Model: "resnet50", Group: "nightly",
					GPUType: "V100|T4", Mixed: true, Request: cluster.Amount{GPUMilli: 1000, GPUMemMiB: 4096}}, time.Second, Unknown, false},
				{cluster.JobSpec{Name: "b", Workers: 32, Model: "gpt", Stages: 2, Tensor: 8, GPUType: "V100", Request: gpu(0, 0)},
					time.Second, Unknown, false},
			}},
		{"native: when jobs are due, as dates that count from the first submission", Options{},
			"job_id,num_gpu,submit_time,duration,deadline,priority\na,1,2026-11-20T08:00:00Z,60,2026-11-20T09:00:00Z,-7\n" +
				"b,1,2026-11-20T08:10:00Z,60,,\nc,1,2026-11-20T08:20:00Z,60,2026-11-20T11:00:00+01:00,1000\n",
			[]Job{
				{due(spec("a", 0, 1, gpu(0, 0)), time.Hour, -7), time.Minute, Unknown, false},
				{spec("b", 10*time.Minute, 1, gpu(0, 0)), time.Minute, Unknown, false},
				{due(spec("c", 20*time.Minute, 1, gpu(0, 0)), 2*time.Hour, 1000), time.Minute, Unknown, false},
			}},
		{"philly-pass, not sorted, a row twice", Options{},
			"timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 00:01:00,66.0,1,66.0,vc\n" +
				"2017-10-08 23:59:59,5,8,40,vc\n2017-10-08 23:59:59,5,8,40,vc\n",
			[]Job{
				{named(spec("0", 61*time.Second, 1, gpu(0, 0)), "", "vc"), 66 * time.Second, Passed, false},
				{named(spec("1", 0, 8, gpu(0, 0)), "", "vc"), 5 * time.Second, Passed, false},
				{named(spec("2", 0, 8, gpu(0, 0)), "", "vc"), 5 * time.Second, Passed, false},
			}},
		{"helios: intervals add up over CPU-only rows, CPUs are the job's", Options{Format: Helios},
			strings.Join(jobColumns, ",") + "\n0,1,0,4,1,5,84,0,Pass\n1,7,16,80,2,94,87,0,Failed\n2,7,3,1,1,1,9,0,Killed\n",
			[]Job{
				{named(spec("1", 99*time.Second, 16, gpu(5000, 0)), "7", ""), 87 * time.Second, Failed, false},
				{named(spec("2", 100*time.Second, 3, gpu(333, 0)), "7", ""), 9 * time.Second, Killed, false},
			}},
		{"kalos: the real fields out of the derived ones", Options{},
			"job_id,arrival_time,num_iteration,iteration_computing_time,iteration_networking_time,gpu_workers,ps,gpu_per_worker," +
				"cpu_per_gpu_worker,cpu_per_ps_worker,tensorsizes,profiled_network\n4,313.0,157,0.5,0.25,8,0,8.0,12.5,15.0,10.0,500\n",
			[]Job{{spec("4", 313*time.Second, 64, gpu(12500, 128000)), 78500 * time.Millisecond, Passed, false}}},
		{"openb: pending and CPU-only pods set aside, requests shared among workers", Options{},
			openbHead +
				"p0,6000,12288,1,460,,LS,Running,10,100,20\np1,6000,12288,1,460,,LS,Pending,11,100,\n" +
				"p2,6000,12288,0,0,,LS,Failed,12,100,20\np3,6001,12289,2,1000,T4|P100,LS,Succeeded,13,100,99\n" +
				"p4,9,9,1,1000,V100M32|V100M16|V100M32,LS,Succeeded,14,100,99\n",
			[]Job{
				{spec("p0", 10*time.Second, 1, cluster.Amount{GPUMilli: 460, CPUMilli: 6000, MemMiB: 12288}), 80 * time.Second, Unknown, false},
				{typed(spec("p3", 13*time.Second, 2, gpu(3000, 6144)), "T4|P100"), time.Second, Passed, false},
				{typed(spec("p4", 14*time.Second, 1, gpu(9, 9)), "V100M16|V100M32"), time.Second, Passed, false},
			}},
	} {
		w, err := readText(c.text, c.opt)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if len(w.Jobs) != len(c.want) {
			t.Errorf("%s: %d jobs, want %d", c.what, len(w.Jobs), len(c.want))
			continue
		}
		for i := range c.want {
			if w.Jobs[i] != c.want[i] {
				t.Errorf("%s: job %d\n%+v, want\n%+v", c.what, i, w.Jobs[i], c.want[i])
			}
		}
	}
}

const nativeHead = "job_id,num_gpu,submit_time,duration\n"

const openbHead = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time," +
	"scheduled_time\n"

// due returns a job with a deadline and a priority.
func due(s cluster.JobSpec, deadline time.Duration, priority int32) cluster.JobSpec {
	s.Deadline, s.Priority = deadline, priority
	return s
}

// TestErrors checks the error messages about wrong files.
func TestErrors(t *testing.T) {
	interval := strings.Join(jobColumns, ",") + "\n"
	for _, c := range []struct {
		what string
		opt  Options
		text string
		want string
	}{
		{"nothing", Options{}, "", `t.csv: empty file, want a CSV header`},
		{"blank lines only", Options{}, "\n \n", `t.csv: empty file, want a CSV header`},
		{"unknown header", Options{}, "a,b\n",
			`t.csv:1: cannot tell the trace format: header "a,b" is none of native, philly-pass, ` +
				`philly-all, helios, kalos, openb, acme, helios-log, philly-log, pai, swf, sacct; native wants job_id,num_gpu,submit_time,duration`},
		{"two formats share a header", Options{}, interval,
			`t.csv:1: cannot tell the trace format: philly-all, helios share this header: name one with --format`},
		{"unknown format", Options{Format: "slurm"}, nativeHead,
			`t.csv:1: parse trace format "slurm": want one of native, philly-pass, philly-all, helios, kalos, openb, acme, helios-log, philly-log, pai, swf, sacct`},
		{"another format's header", Options{Format: Kalos}, nativeHead,
			`t.csv:1: header lacks column "arrival_time" of format kalos`},
		{"misspelt column", Options{}, "job_id,num_gpu,submit_time,duration,usr\n",
			`t.csv:1: header has column "usr", which format ` +
				`native does not know: want job_id,num_gpu,submit_time,duration,user,tenant,gpu_milli,cpu_milli,mem_mib,status,` +
				`min_workers,max_workers,model,group,stages,tensor,gpu_type,mixed,gpu_mem_mib,deadline,priority` +
				`; with --columns job_id=job_id, columns that it does not know are left out`},
		{"a deadline of another form", Options{}, "job_id,num_gpu,submit_time,duration,deadline\na,1,0,1,2026-11-20\n",
			`t.csv:2: column "deadline": value "2026-11-20", want the form of the submit time 0: this is a date without time zone, and that is seconds`},
		{"a deadline before the submission", Options{}, "job_id,num_gpu,submit_time,duration,deadline\na,1,9,1,9\n",
			`t.csv:2: column "deadline": value "9", want later than the submit time 9`},
		{"a priority by name", Options{}, "job_id,num_gpu,submit_time,duration,priority\na,1,9,1,high\n",
			`t.csv:2: column "priority": value "high", want a whole number from -1000000000 to 2000000000`},
		{"column twice", Options{}, "job_id,num_gpu,job_id\n", `t.csv:1: column "job_id" stands twice in the header`},
		{"short row", Options{}, nativeHead + "a,1,0\n", `t.csv:2: 3 fields, want 4`},
		{"blank lines count", Options{}, nativeHead + "\n\na,x,0,1\n",
			`t.csv:4: column "num_gpu": value "x", want a whole number from 0 to 1048576`},
		{"fraction of a GPU", Options{}, nativeHead + "a,0.5,0,1\n",
			`t.csv:2: column "num_gpu": value "0.5", want a whole number from 0 to 1048576`},
		{"negative time", Options{}, nativeHead + "a,1,-1,1\n",
			`t.csv:2: column "submit_time": value "-1", want a time that is not negative`},
		{"a time after a hundred years", Options{}, nativeHead + "a,1,4000000000,1\n", `t.csv:2: column "submit_time": value "4000000000", ` +
			`want seconds from 0 to 3153600000, or milliseconds, microseconds or nanoseconds since 1970`},
		{"no duration", Options{}, nativeHead + "a,1,0,NaN\nb,1,0,0\nc,1,NaT,1\nd,nan,0,1\n",
			`t.csv: no job: 4 rows, of which 1 have no duration, 1 ran for no time, 1 have no submit time, 1 do not say how many GPUs`},
		{"no id", Options{}, nativeHead + ",1,0,1\n", `t.csv:2: column "job_id": value "", want a job id`},
		{"an id twice", Options{}, nativeHead + "a,1,0,1\na,1,0,2\n",
			`t.csv:3: column "job_id": value "a", want an id that no earlier row has`},
		{"control character", Options{}, nativeHead + "a\x00,1,0,1\n",
			`t.csv:2: column "job_id": value "a\x00", want at most 256 bytes of printable UTF-8`},
		{"quote left open", Options{}, nativeHead + "\"a,1,0,1\n", `t.csv:2: quote of "a,1,0,1 is not closed on its line: fields with line breaks are not read`},
		{"text after a quote", Options{}, nativeHead + "\"a\"b,1,0,1\n",
			`t.csv:2: "b,1,0,1" follows a quoted field, want a comma`},
		{"status", Options{}, "job_id,num_gpu,submit_time,duration,status\na,1,0,1,odd\n",
			`t.csv:2: column "status": value "odd", want passed, failed, killed, unknown or nothing`},
		{"GPU share", Options{}, "job_id,num_gpu,submit_time,duration,gpu_milli\na,1,0,1,1001\n",
			`t.csv:2: column "gpu_milli": value "1001", want a whole number from 1 to 1000`},
		{"smallest gang", Options{}, "job_id,num_gpu,submit_time,duration,min_workers\na,4,0,1,5\n",
			`t.csv:2: column "min_workers": value "5", want at most the 4 of num_gpu`},
		{"largest gang", Options{}, "job_id,num_gpu,submit_time,duration,max_workers\na,4,0,1,3\n",
			`t.csv:2: column "max_workers": value "3", want at least the 4 of num_gpu`},
		{"no gang at all", Options{}, "job_id,num_gpu,submit_time,duration,min_workers\na,4,0,1,0\n",
			`t.csv:2: column "min_workers": value "0", want a whole number from 1 to 1048576`},
		{"stages", Options{}, "job_id,num_gpu,submit_time,duration,stages\na,4,0,1,3\n",
			`t.csv:2: column "stages": value "3", want stages times tensor to divide the 4 of num_gpu`},
		{"stages and tensor past 32 bits", Options{}, "job_id,num_gpu,submit_time,duration,stages,tensor\na,4,0,1,1048576,1048576\n",
			`t.csv:2: column "tensor": value "1048576", want stages times tensor to divide the 4 of num_gpu`},
		{"elastic in stages", Options{}, "job_id,num_gpu,submit_time,duration,stages,max_workers\na,4,0,1,2,8\n",
			`t.csv:2: column "max_workers": value "8", want a rigid gang where stages or tensor is above 1`},
		{"a GPU type twice", Options{}, "job_id,num_gpu,submit_time,duration,gpu_type\na,4,0,1,T4|V100|T4\n",
			`t.csv:2: column "gpu_type": value "T4|V100|T4", want GPU types separated by '|', none empty or twice`},
		{"mixed", Options{}, "job_id,num_gpu,submit_time,duration,mixed\na,4,0,1,yes\n",
			`t.csv:2: column "mixed": value "yes", want true, false or nothing`},
		{"openb spec", Options{}, openbHead + "p,1,1,1,1000,T4||P100,LS,Failed,1,9,2\n",
			`t.csv:2: column "gpu_spec": value "T4||P100", want GPU types separated by '|', none empty`},
		{"date", Options{}, "timestamp,duration,num_gpus,gpu_time,cluster\n09/10/2017,1,1,1,c\n",
			`t.csv:2: column "timestamp": value "09/10/2017", want YYYY-MM-DD HH:MM:SS from 1970 on`},
		{"helios status", Options{Format: Helios}, interval + "0,1,1,1,1,0,84,0,Passed\n",
			`t.csv:2: column "new_status": value "Passed", want Pass, Failed or Killed`},
		{"line limit", Options{MaxLine: 40}, nativeHead + strings.Repeat("a", 41) + ",1,0,1\n",
			`t.csv:2: trace exceeds a limit: more than 40 bytes in a line`},
		{"row limit", Options{MaxRows: 1}, nativeHead + "a,1,0,1\nb,1,0,1\n", `t.csv:3: trace exceeds a limit: more than 1 rows`},
		{"negative limit", Options{MaxRows: -1}, nativeHead,
			`t.csv: limits of 0 bytes a line and -1 rows, want 0 or more, and lines of at most 1073741824`},
		{"not really gzip", Options{}, "\x1f\x8bxx", `t.csv: read gzip header: unexpected EOF`},
	} {
		_, err := readText(c.text, c.opt)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v, want\n%s", c.what, err, c.want)
		}
	}
	if _, err := readText(interval, Options{}); !errors.Is(err, ErrFormat) {
		t.Errorf("a shared header is %v, want ErrFormat", err)
	}
	if _, err := readText(nativeHead+"a,1,0,1\nb,1,0,1\n", Options{MaxRows: 1, SkipBadRows: true}); !errors.Is(err, ErrLimit) {
		t.Errorf("too many rows are %v, want ErrLimit whatever is skipped", err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.csv"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file is %v, want os.ErrNotExist", err)
	}
}

// TestSkipBadRows checks that SkipBadRows counts bad rows and keeps the first few errors, and that reading stops if later rows
// would be wrong.
func TestSkipBadRows(t *testing.T) {
	text := nativeHead + "a,1,0,1\nb,x,0,1\nb,0,0,1\nc,2,0,1,9\nd,2,0,1\n" + strings.Repeat(",,,\n", 9)
	w, err := readText(text, Options{SkipBadRows: true})
	if err != nil {
		t.Fatal(err)
	}
	r := w.Report
	if r.Rows != 14 || r.Jobs != 2 || r.CPUOnly() != 1 || r.Bad != 11 || len(r.BadExamples) != maxBadExamples {
		t.Errorf("report %+v", r)
	}
	if want := `t.csv:5: 5 fields, want 4`; r.BadExamples[1] != want {
		t.Errorf("second example %q, want %q", r.BadExamples[1], want)
	}
	head := strings.Join(jobColumns, ",") + "\n"
	opt := Options{Format: Helios, SkipBadRows: true}
	w, err = readText(head+"0,1,1,1,1,7,84,0,Odd\n1,1,1,1,1,3,84,0,Pass\n", opt)
	if err != nil || len(w.Jobs) != 1 || w.Jobs[0].Submit != 10*time.Second {
		t.Errorf("after a bad status: %+v, %v, want the second job at 10s", w.Jobs, err)
	}
	if _, err = readText(head+"0,1,1,1,1,x,84,0,Pass\n", opt); err == nil {
		t.Error("a bad interval was skipped, though every later submit time depends on it")
	}
}

// TestGzip checks that gzip is detected by content, not by name, and that a truncated file is an error.
func TestGzip(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(nativeHead + strings.Repeat("a,1,0,1\n", 1)))
	z.Close()
	path := filepath.Join(t.TempDir(), "day.1.csv")
	must.Do(t, os.WriteFile(path, packed.Bytes(), 0o644))
	w, err := Read(path, Options{})
	if err != nil || len(w.Jobs) != 1 || w.Name != "day.1" {
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := readText(packed.String()[:packed.Len()-6], Options{}); err == nil {
		t.Error("a torn gzip file was read")
	}
}

// TestJobsResumes checks that a stream of jobs can be stopped and continued.
func TestJobsResumes(t *testing.T) {
	r := must.Get(NewReader(strings.NewReader(nativeHead+"a,1,0,1\nb,1,0,1\nc,1,0,1\n"), "t.csv", Options{}))(t)
	var got string
	for range 2 {
		for j, err := range r.jobs() {
			if err != nil {
				t.Fatal(err)
			}
			got += j.Name
			if j.Name == "a" {
				break
			}
		}
	}
	if got != "abc" {
		t.Errorf("read %s, want abc", got)
	}
}

// TestATraceThatUnpacksToVeryMuchIsRefused checks that a small file that unpacks to too many bytes is refused before its jobs
// take memory.
func TestATraceThatUnpacksToVeryMuchIsRefused(t *testing.T) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(z, nativeHead)
	rows := strings.Repeat("a,1,0,1\n", 1<<17)
	for range 150 {
		fmt.Fprint(z, rows)
	}
	must.Do(t, z.Close())
	size := packed.Len()
	r := must.Get(NewReader(&packed, "bomb.csv.gz", Options{SkipBadRows: true}))(t)
	for _, err = range r.jobs() {
	}
	if rows := r.Report().Rows; !errors.Is(err, ErrLimit) || rows > 5_000_000 {
		t.Errorf("%d bytes: %d rows and %v, want ErrLimit", size, rows, err)
	}
}
