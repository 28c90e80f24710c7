package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// readText reads a trace that stands in a test.
func readText(text string, opt Options) (Workload, error) {
	r, err := NewReader(strings.NewReader(text), "t.csv", opt)
	if err != nil {
		return Workload{}, err
	}
	return r.Workload()
}

// The counts and loads of the real traces are those that their descriptions state.
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
	}{
		{"helios-venus-2020-06/helios_data_training.csv.gz", Options{Format: Helios}, Helios,
			15000, 10796, 4204, 0, 20.2, 160, 95, 0, 1022, .72},
		{"philly-2017-allstatus/philly_data_training.csv.gz", Options{Format: PhillyAll}, PhillyAll,
			15000, 15000, 0, 0, 57.6, 48, 136, 0, 2490, .22},
		{"philly-2017-pass/philly.csv.gz", Options{}, PhillyPass, 54223, 54223, 0, 0, 40.0, 32, 0, 12, 2490, .22},
		{"acme-kalos-2023/converted_kalos_trace.csv.gz", Options{}, Kalos, 229, 229, 0, 0, 59.3, 1024, 0, 0, 2416, .10},
		{"alibaba-openb-2023/openb_pod_list_default.csv.gz", Options{}, OpenB, 5353, 4132, 737, 484, 140, 8, 0, 0, 6212, .002},
		{"alibaba-openb-2023/openb_pod_list_gpuspec33.csv.gz", Options{}, OpenB, 5353, 4132, 737, 484, 140, 8, 0, 0, 6212, .002},
	} {
		w, err := Read(filepath.Join(sharedtest.Dir(t), "traces", c.path), c.opt)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		want := Report{Format: c.format, Rows: c.rows, Jobs: c.jobs, CPUOnly: c.cpuOnly, NeverScheduled: c.never}
		if got := w.Report; got.Format != want.Format || got.Rows != want.Rows || got.Jobs != want.Jobs ||
			got.CPUOnly != want.CPUOnly || got.NeverScheduled != want.NeverScheduled || got.Bad != 0 {
			t.Errorf("%s: report %+v, want %+v", c.path, got, want)
		}
		s := Describe(w.Jobs)
		if s.Jobs != c.jobs || s.Users != c.users || s.Tenants != c.tenants || s.Gangs[len(s.Gangs)-1].Workers != c.gang {
			t.Errorf("%s: %d jobs of %d users and %d tenants, gangs to %d", c.path, s.Jobs, s.Users, s.Tenants,
				s.Gangs[len(s.Gangs)-1].Workers)
		}
		if math.Abs(s.Days()-c.days) > .06 {
			t.Errorf("%s: %.2f days, want %v", c.path, s.Days(), c.days)
		}
		if got := s.Load(c.gpus); math.Abs(got-c.load) > .006 {
			t.Errorf("%s: load %.4f on %d GPUs, want %v", c.path, got, c.gpus, c.load)
		}
		for i := range w.Jobs {
			if err := w.Jobs[i].Validate(); err != nil || w.Jobs[i].Work <= 0 {
				t.Fatalf("%s: job %d: work %v, %v", c.path, i, w.Jobs[i].Work, err)
			}
		}
		if firstSubmit(w.Jobs) != 0 {
			t.Errorf("%s: first submit at %v, want 0", c.path, firstSubmit(w.Jobs))
		}
	}
}

func TestRealTraceDetails(t *testing.T) {
	dir := filepath.Join(sharedtest.Dir(t), "traces")
	helios, err := Read(filepath.Join(dir, "helios-venus-2020-06/helios_data_training.csv.gz"), Options{Format: Helios})
	if err != nil {
		t.Fatal(err)
	}
	s := Describe(helios.Jobs)
	if s.Max != 1_964_673*time.Second {
		t.Errorf("helios: longest job %v, want 1964673s", s.Max)
	}
	// Rows of CPU-only jobs count for the clock: 94 and 151 seconds after the first are the second and the third.
	if got := helios.Jobs[2].Submit; got != 245*time.Second {
		t.Errorf("helios: third job submits at %v, want 245s", got)
	}
	philly, err := Read(filepath.Join(dir, "philly-2017-allstatus/philly_data_training.csv.gz"), Options{Format: PhillyAll})
	if err != nil {
		t.Fatal(err)
	}
	if got := Describe(philly.Jobs).Statuses; got != [4]int{Passed: 8538, Failed: 4509, Killed: 1953} {
		t.Errorf("philly: statuses %v", got)
	}
	dense, err := Window(philly, WindowSpec{From: 45 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	d := Describe(dense.Jobs)
	if d.Jobs != 14351 || math.Abs(d.Load(2490)-.55) > .006 {
		t.Errorf("philly from day 45 on: %d jobs, load %.3f, want 14351 and 0.55", d.Jobs, d.Load(2490))
	}
}

// Every format on a few rows: units, clocks and what is set aside.
func TestFormats(t *testing.T) {
	gpu := func(cpu, mem int32) cluster.Amount { return cluster.Amount{GPUMilli: 1000, CPUMilli: cpu, MemMiB: mem} }
	spec := func(name string, submit time.Duration, workers int32, a cluster.Amount) cluster.JobSpec {
		return cluster.JobSpec{Name: name, Submit: submit, Workers: workers, Request: a}
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
				{spec("9", 3*time.Second, 1, gpu(0, 0)), 100 * time.Millisecond, Unknown},
				{spec("10", 1, 2, gpu(0, 0)), 1500 * time.Millisecond, Unknown},
			}},
		{"native with columns in any order, in the order of the file", Options{},
			"\ufeffstatus,duration,user,num_gpu,gpu_milli,mem_mib,tenant,submit_time,job_id,cpu_milli\r\n" +
				"killed,60,\"a, \"\"b\"\"\",1,250,512,t,7,b,1500\r\n\r\n,1,,1,,,,7,a,",
			[]Job{
				{named(spec("b", 7*time.Second, 1, cluster.Amount{GPUMilli: 250, CPUMilli: 1500, MemMiB: 512}), `a, "b"`, "t"),
					time.Minute, Killed},
				{spec("a", 7*time.Second, 1, gpu(0, 0)), time.Second, Unknown},
			}},
		{"philly-pass, not sorted, a row twice", Options{},
			"timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 00:01:00,66.0,1,66.0,vc\n" +
				"2017-10-08 23:59:59,5,8,40,vc\n2017-10-08 23:59:59,5,8,40,vc\n",
			[]Job{
				{named(spec("0", 61*time.Second, 1, gpu(0, 0)), "", "vc"), 66 * time.Second, Passed},
				{named(spec("1", 0, 8, gpu(0, 0)), "", "vc"), 5 * time.Second, Passed},
				{named(spec("2", 0, 8, gpu(0, 0)), "", "vc"), 5 * time.Second, Passed},
			}},
		{"helios: intervals add up over CPU-only rows, CPUs are the job's", Options{Format: Helios},
			strings.Join(jobColumns, ",") + "\n0,1,0,4,1,5,84,0,Pass\n1,7,16,80,2,94,87,0,Failed\n2,7,3,1,1,1,9,0,Killed\n",
			[]Job{
				{named(spec("1", 99*time.Second, 16, gpu(5000, 0)), "7", ""), 87 * time.Second, Failed},
				{named(spec("2", 100*time.Second, 3, gpu(333, 0)), "7", ""), 9 * time.Second, Killed},
			}},
		{"kalos: the real fields out of the derived ones", Options{},
			"job_id,arrival_time,num_iteration,iteration_computing_time,iteration_networking_time,gpu_workers,ps,gpu_per_worker," +
				"cpu_per_gpu_worker,cpu_per_ps_worker,tensorsizes,profiled_network\n4,313.0,157,0.5,0.25,8,0,8.0,12.5,15.0,10.0,500\n",
			[]Job{{spec("4", 313*time.Second, 64, gpu(12500, 128000)), 78500 * time.Millisecond, Passed}}},
		{"openb: pending and CPU-only pods set aside, requests shared among workers", Options{},
			"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n" +
				"p0,6000,12288,1,460,,LS,Running,10,100,20\np1,6000,12288,1,460,,LS,Pending,11,100,\n" +
				"p2,6000,12288,0,0,,LS,Failed,12,100,20\np3,6001,12289,2,1000,T4|P100,LS,Succeeded,13,100,99\n",
			[]Job{
				{spec("p0", 10*time.Second, 1, cluster.Amount{GPUMilli: 460, CPUMilli: 6000, MemMiB: 12288}), 80 * time.Second, Unknown},
				{spec("p3", 13*time.Second, 2, gpu(3000, 6144)), time.Second, Passed},
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

// What a user reads when a file is wrong.
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
				`philly-all, helios, kalos, openb; native wants job_id,num_gpu,submit_time,duration`},
		{"two formats share a header", Options{}, interval,
			`t.csv:1: cannot tell the trace format: philly-all, helios share this header: name one with --format`},
		{"unknown format", Options{Format: "slurm"}, nativeHead,
			`t.csv:1: parse trace format "slurm": want one of native, philly-pass, philly-all, helios, kalos, openb`},
		{"another format's header", Options{Format: Kalos}, nativeHead,
			`t.csv:1: header lacks column "arrival_time" of format kalos`},
		{"misspelt column", Options{}, "job_id,num_gpu,submit_time,duration,usr\n",
			`t.csv:1: header has column "usr", which format ` +
				`native does not know: want job_id,num_gpu,submit_time,duration,user,tenant,gpu_milli,cpu_milli,mem_mib,status`},
		{"column twice", Options{}, "job_id,num_gpu,job_id\n", `t.csv:1: column "job_id" stands twice in the header`},
		{"short row", Options{}, nativeHead + "a,1,0\n", `t.csv:2: 3 fields, want 4`},
		{"blank lines count", Options{}, nativeHead + "\n\na,x,0,1\n",
			`t.csv:4: column "num_gpu": value "x", want a whole number from 0 to 1048576`},
		{"fraction of a GPU", Options{}, nativeHead + "a,0.5,0,1\n",
			`t.csv:2: column "num_gpu": value "0.5", want a whole number from 0 to 1048576`},
		{"negative time", Options{}, nativeHead + "a,1,-1,1\n",
			`t.csv:2: column "submit_time": value "-1", want seconds from 0 to 3153600000 with at most 9 decimals`},
		{"time finer than a nanosecond", Options{}, nativeHead + "a,1,0.0000000001,1\n",
			`t.csv:2: column "submit_time": value "0.0000000001", want seconds from 0 to 3153600000 with at most 9 decimals`},
		{"not a number", Options{}, nativeHead + "a,1,0,NaN\n",
			`t.csv:2: column "duration": value "NaN", want seconds from 0 to 3153600000 with at most 9 decimals`},
		{"no duration", Options{}, nativeHead + "a,1,0,0\n", `t.csv:2: column "duration": value "0", want more than 0 seconds`},
		{"no id", Options{}, nativeHead + ",1,0,1\n", `t.csv:2: column "job_id": value "", want a job id`},
		{"an id twice", Options{}, nativeHead + "a,1,0,1\na,1,0,1\n",
			`t.csv:3: column "job_id": value "a", want an id that no earlier row has`},
		{"control character", Options{}, nativeHead + "a\x00,1,0,1\n",
			`t.csv:2: column "job_id": value "a\x00", want at most 256 bytes of printable UTF-8`},
		{"quote left open", Options{}, nativeHead + "\"a,1,0,1\n", `t.csv:2: quote of "a,1,0,1 is not closed on its line`},
		{"text after a quote", Options{}, nativeHead + "\"a\"b,1,0,1\n",
			`t.csv:2: "b,1,0,1" follows a quoted field, want a comma`},
		{"status", Options{}, "job_id,num_gpu,submit_time,duration,status\na,1,0,1,done\n",
			`t.csv:2: column "status": value "done", want passed, failed, killed, unknown or nothing`},
		{"GPU share", Options{}, "job_id,num_gpu,submit_time,duration,gpu_milli\na,1,0,1,1001\n",
			`t.csv:2: column "gpu_milli": value "1001", want a whole number from 1 to 1000`},
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

// SkipBadRows sets bad rows aside with the first few errors, and stops where later rows would be wrong.
func TestSkipBadRows(t *testing.T) {
	text := nativeHead + "a,1,0,1\nb,x,0,1\nb,0,0,1\nc,2,0,1,9\nd,2,0,1\n" + strings.Repeat(",,,\n", 9)
	w, err := readText(text, Options{SkipBadRows: true})
	if err != nil {
		t.Fatal(err)
	}
	r := w.Report
	if r.Rows != 14 || r.Jobs != 2 || r.CPUOnly != 1 || r.Bad != 11 || len(r.BadExamples) != maxBadExamples {
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

// gzip is told by content, not by name, and a torn file is an error.
func TestGzip(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(nativeHead + strings.Repeat("a,1,0,1\n", 1)))
	z.Close()
	path := filepath.Join(t.TempDir(), "day.1.csv")
	if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := Read(path, Options{})
	if err != nil || len(w.Jobs) != 1 || w.Name != "day.1" {
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := readText(packed.String()[:packed.Len()-6], Options{}); err == nil {
		t.Error("a torn gzip file was read")
	}
}

// A stream can be stopped and taken up again.
func TestJobsResumes(t *testing.T) {
	r, err := NewReader(strings.NewReader(nativeHead+"a,1,0,1\nb,1,0,1\nc,1,0,1\n"), "t.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for range 2 {
		for j, err := range r.Jobs() {
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
