package trace

import (
	"fmt"
	"strings"
	"testing"
)

// show formats what a trace holds, a line a job and a line for each thing that was said.
func show(w Workload) string {
	var b strings.Builder
	for _, j := range w.Jobs {
		fmt.Fprintf(&b, "%s of %s/%s at %v: %d x %d/1000 %s, %d/1000 cores, %d MiB, %v, %v\n", j.Name, j.Tenant, j.User, j.Submit, j.Workers,
			j.Request.GPUMilli, j.GPUType, j.Request.CPUMilli, j.Request.MemMiB, j.Work, j.Status)
	}
	return b.String() + strings.Join(w.Report.Lines(), "\n")
}

const (
	acmeHead  = "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
	kalosHead = "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,end_time,fail_time,stop_time,duration\n"
	logHead   = "job_id,user,vc,jobname,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
)

// TestLogs checks on small files of the original formats of public traces what becomes of each row, and what is said of it.
func TestLogs(t *testing.T) {
	for _, c := range []struct {
		what    string
		columns Columns
		text    string
		format  Format
		want    string
	}{
		{"Acme's Seren", nil, acmeHead +
			"31,ada,2,16,128,SFT,COMPLETED,2026-04-01 08:00:00+08:00,2026-04-01 08:00:10+08:00,2026-04-01 08:01:10+08:00,60,10,960\n" +
			"32,bob,0,0,4,Other,FAILED,2026-04-01 08:00:01+08:00,2026-04-01 08:00:10+08:00,2026-04-01 08:01:10+08:00,60,9,0\n" +
			"33,bob,1,8,12,Other,TIMEOUT,2026-04-01 08:00:03+08:00,2026-04-01 08:00:10+08:00,2026-04-01 08:02:10+08:00,,7,960\n" +
			"34,bob,1,1,1,Other,CANCELLED,2026-04-01 08:00:04+08:00,,,0,0,0\n" +
			"35,bob,1,1,1,Debug,COMPLETED,2026-04-01 08:00:04+08:00,2026-04-01 08:00:10+08:00,2026-04-01 08:00:10+08:00,0,0,0\n" +
			"36,bob,1,1,1,Debug,RUNNING,2026-04-01 08:00:04+08:00,2026-04-01 08:00:10+08:00,,,0,0\n", Acme,
			"31 of /ada at 0s: 16 x 1000/1000 , 8000/1000 cores, 0 MiB, 1m0s, passed\n" +
				"33 of /bob at 3s: 8 x 1000/1000 , 1500/1000 cores, 0 MiB, 2m0s, failed\n" +
				"1 of 6 rows ask for no GPU and are set aside\n1 of 6 rows were never scheduled and are set aside\n" +
				"1 of 6 rows ran for no time and are set aside\n1 of 6 rows have not ended and are set aside\n2 columns are not read: queue,gpu_time"},
		{"Acme's Kalos", nil, kalosHead +
			"dl1,u,2.0,16,240,1000.0,100,Pretrain,COMPLETED,2026-04-01 08:00:00+00:00,2026-04-01 08:00:01+00:00,2026-04-01 08:00:31+00:00,,,30.0\n" +
			"dl2,u,NaN,8,96,,,SFT,FAILED,2026-04-01 08:00:09+00:00,2026-04-01 08:00:10+00:00,2026-04-01 08:00:30+00:00,2026-04-01 08:00:30+00:00,,20.0\n", Acme,
			"dl1 of /u at 0s: 16 x 1000/1000 , 15000/1000 cores, 128000 MiB, 30s, passed\n" +
				"dl2 of /u at 9s: 8 x 1000/1000 , 12000/1000 cores, 0 MiB, 20s, failed\n" +
				"3 columns are not read: shared_mem_per_pod,fail_time,stop_time"},
		{"Helios", nil, logHead +
			"5,u1,vcX,n1,8,64,1,COMPLETED,2026-04-01 08:00:00,2026-04-01 08:00:10,2026-04-01 08:01:10,60,10\n" +
			"6,u2,vcY,n2,1,6,1,CANCELLED,2026-04-01 08:00:05,None,None,0,0\n" +
			"7,u2,vcY,n2,1,6,1,NODE_FAIL,2026-04-01 08:00:07,2026-04-01 08:00:10,2026-04-01 08:00:40,30,0\n", HeliosLog,
			"5 of vcX/u1 at 0s: 8 x 1000/1000 , 8000/1000 cores, 0 MiB, 1m0s, passed\n" +
				"7 of vcY/u2 at 7s: 1 x 1000/1000 , 6000/1000 cores, 0 MiB, 30s, failed\n" +
				"1 of 3 rows were never scheduled and are set aside\n2 columns are not read: jobname,queue\n" +
				"submit times, such as 2026-04-01 08:00:00, have no time zone: they are read as UTC, so an hour that clocks skip or repeat shifts jobs"},
		{"Philly's job log", nil, `[
{"status": "Pass", "vc": "v", "jobid": "p1", "attempts": [{"start_time": "2026-10-07 00:01:00", "end_time": "2026-10-07 00:02:00",
  "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu7"]}]}], "submitted_time": "2026-10-07 00:00:00", "user": "u"},
{"status": "Failed", "vc": "v", "jobid": "p2", "attempts": [
  {"start_time": "2026-10-07 00:01:00", "end_time": "2026-10-07 00:02:00", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
  {"start_time": null, "end_time": null, "detail": []},
  {"start_time": "2026-10-07 00:09:00", "end_time": "2026-10-07 00:09:30", "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]}],
  "submitted_time": "2026-10-07 00:00:30", "user": "u"},
{"status": "Killed", "vc": "v", "jobid": "p3", "attempts": [], "submitted_time": "None", "user": "u"},
{"status": "Killed", "vc": "v", "jobid": "p4", "attempts": [{"start_time": "2026-10-07 00:01:00", "end_time": null,
  "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}], "submitted_time": "2026-10-07 00:00:00", "user": null},
{"status": "Killed", "vc": null, "jobid": "p5", "attempts": [{"start_time": "2026-10-07 00:01:00", "end_time": "2026-10-07 00:02:00",
  "detail": [{"ip": "m1", "gpus": []}]}], "submitted_time": "2026-10-07 00:00:00", "user": null},
{"status": "Pass", "jobid": "p6", "attempts": [{"start_time": "2026-10-07 00:01:00", "end_time": "2026-10-07 00:02:00",
  "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}], "submitted_time": null, "more": 1}
]`, PhillyLog,
			"p1 of v/u at 0s: 3 x 1000/1000 , 0/1000 cores, 0 MiB, 1m0s, passed\n" +
				"p2 of v/u at 30s: 2 x 1000/1000 , 0/1000 cores, 0 MiB, 1m30s, failed\n" +
				"1 of 6 rows were never scheduled and are set aside\n1 of 6 rows have no end and are set aside\n" +
				"1 of 6 rows ask for no GPU and are set aside\n1 of 6 rows have no submit time and are set aside\n" +
				"1 of 6 rows have several attempts: their run times are added up\n" +
				"1 of 6 rows have attempts with different numbers of GPUs: those of the last count\n" +
				"submit times, such as 2026-10-07 00:00:00, have no time zone: they are read as UTC, so an hour that clocks skip or repeat shifts jobs"},
		{"Philly's jobs one after the other", nil, `{"status": "Pass", "jobid": "p1", "attempts": [{"start_time": "2026-10-07 00:01:00",
			"end_time": "2026-10-07 00:02:00", "detail": [{"gpus": ["gpu0"]}]}], "submitted_time": "2026-10-07 00:00:00"}` + "\n" +
			`{"status": "Pass", "jobid": "p2", "attempts": null, "submitted_time": "2026-10-07 00:00:00"}`, PhillyLog,
			"p1 of / at 0s: 1 x 1000/1000 , 0/1000 cores, 0 MiB, 1m0s, passed\n1 of 2 rows were never scheduled and are set aside\n" +
				"submit times, such as 2026-10-07 00:00:00, have no time zone: they are read as UTC, so an hour that clocks skip or repeat shifts jobs"},
		{"PAI's tasks", nil, "a,worker,2,Terminated,100.0,160.0,600.0,29.296875,50.0,T4\na,ps,1,Terminated,100.0,160.0,600.0,29.3,,\n" +
			"b,tf,3,Failed,105.0,165.0,200,8,200.0,V100\nb,eval,1,Terminated,110,170,100,1,100,V100\nc,tf,1,Waiting,,,100,1,100,\n" +
			"d,tf,1,Running,120,,100,1,100,\ne,tf,1,Terminated,130,190,300,3,150,MISC\nf,tf,1,Terminated,130,130,300,3,100,MISC\n", PAI,
			"a of / at 1m40s: 2 x 500/1000 T4, 6000/1000 cores, 29999 MiB, 1m0s, passed\n" +
				"b of / at 1m45s: 6 x 1000/1000 V100, 1000/1000 cores, 4096 MiB, 1m0s, failed\n" +
				"b/eval of / at 1m50s: 1 x 1000/1000 V100, 1000/1000 cores, 1024 MiB, 1m0s, passed\n" +
				"e of / at 2m10s: 2 x 1000/1000 MISC, 1500/1000 cores, 1536 MiB, 1m0s, passed\n" +
				"1 of 8 rows ask for no GPU and are set aside\n1 of 8 rows were never scheduled and are set aside\n" +
				"1 of 8 rows have not ended and are set aside\n1 of 8 rows ran for no time and are set aside\n" +
				"4 of 8 rows take the start of the task for its submission, because pai_task_table has none (see docs/traces.md for a join)\n" +
				"1 of 8 rows are further tasks of a job: each is a job of its own, named job/task\n" +
				"1 of 8 rows ask for GPUs and a part of another: they count as whole GPUs"},
		{"PAI's tasks joined with its jobs", nil, "a,worker,1,Terminated,100.0,160.0,600.0,29.3,100.0,T4,i1,ada,Terminated,90.5,170\n", PAI,
			"a of /ada at 1m30.5s: 1 x 1000/1000 T4, 6000/1000 cores, 30003 MiB, 1m0s, passed\n"},
		{"PAI's tasks with a header", nil, strings.Join(paiTask, ",") + "\na,worker,1,Terminated,100.0,160.0,600.0,29.3,100.0,T4\n", PAI,
			"a of / at 1m40s: 1 x 1000/1000 T4, 6000/1000 cores, 30003 MiB, 1m0s, passed\n" +
				"1 of 1 rows take the start of the task for its submission, because pai_task_table has none (see docs/traces.md for a join)"},
		{"the Standard Workload Format", Columns{"num_gpu=processors"}, "; Version: 2.2\n;\n; Note: a; b\n" +
			" 1  0 10 3600 8 -1 -1 8 7200 -1 1 3 2 -1 1 -1 -1 -1\n\n 2 60  5   -1 4 -1 -1 4 3600 -1 5 3 1 -1 1 -1 -1 -1\n" +
			" 3 70  5 60 -1 -1 -1 4 3600 -1 0 -1 1 -1 1 -1 -1 -1\n 4 80 5 60.5 2 -1 -1 4 3600 -1 0 -1 -1 -1 1 -1 -1 -1\n" +
			" 4 80 5 30 2 -1 -1 4 3600 -1 2 -1 -1 -1 1 -1 -1 -1\n", SWF,
			"1 of 2/3 at 0s: 8 x 1000/1000 , 0/1000 cores, 0 MiB, 1h0m0s, passed\n" +
				"4 of / at 1m20s: 2 x 1000/1000 , 0/1000 cores, 0 MiB, 1m0.5s, failed\n" +
				"1 of 5 rows have no duration and are set aside\n1 of 5 rows do not say how many GPUs and are set aside\n" +
				"1 of 5 rows tell of a part of a job that another row tells of as a whole and are set aside\n" +
				"11 columns are not read: wait,cpu_time,memory,requested_processors,requested_time,requested_memory,execut..."},
		{"the Standard Workload Format without comments", Columns{"num_gpu=requested_processors", "tenant=queue"},
			"7 5 10 3600 8 -1 -1 6 7200 -1 1 3 2 -1 9 -1 -1 -1\n", SWF,
			"7 of 9/3 at 5s: 6 x 1000/1000 , 0/1000 cores, 0 MiB, 1h0m0s, passed\n" +
				"11 columns are not read: wait,processors,cpu_time,memory,requested_time,requested_memory,group_id,executa..."},
	} {
		w, err := readText(c.text, Options{Columns: c.columns})
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		} else if got := show(w); got != c.want || w.Report.Format != c.format {
			t.Errorf("%s (%s):\n%s\nwant\n%s", c.what, w.Report.Format, got, c.want)
		}
	}
}

// TestErrorsOfLogs checks the errors about wrong files of these formats.
func TestErrorsOfLogs(t *testing.T) {
	const attempt = `{"start_time": "2026-10-07 00:01:00", "end_time": "2026-10-07 00:02:00", "detail": [{"ip": "m", "gpus": ["g"]}]}`
	philly := func(changes ...string) string {
		return strings.NewReplacer(changes...).Replace(`[{"status":"Pass","jobid":"p","submitted_time":"2026-10-07 00:00:00","attempts":[` + attempt + `]}]`)
	}
	for _, c := range []struct {
		columns Columns
		text    string
		want    string
	}{
		{nil, acmeHead + "1,u,1,1,1,SFT,ODD,5,6,7,1,0,0\n", `t.csv:2: column "state": value "ODD", want a state of Slurm, such as COMPLETED`},
		{nil, acmeHead + "1,u,1,1.5,1,SFT,COMPLETED,5,6,7,1,0,0\n", `t.csv:2: column "gpu_num": value "1.5", want a whole number`},
		{nil, acmeHead + "1,u,1,1,1,SFT,COMPLETED,5,6,5,,0,0\n", `t.csv:2: column "end_time": value "5", want no earlier than the start 6`},
		{nil, acmeHead + "1,u,1,1,-1,SFT,COMPLETED,5,6,7,1,0,0\n", `t.csv:2: column "cpu_num": value "-1", want a number from 0 to`},
		{nil, acmeHead + "1,u,1,1,1,SFT,COMPLETED,5,6,7,1,0,0\n1,u,1,1,1,SFT,COMPLETED,5,6,7,2,0,0\n", `t.csv:3: column "job_id": value "1", want an id that no`},
		{Columns{"num_gpu=processors"}, "1 0 10 3600 8 -1 -1 8 7200 -1 9 3 2 -1 1 -1 -1 -1\n", `t.csv:1: column "status": value "9", want 0 (failed)`},
		{Columns{"num_gpu=processors"}, "; c\n1 0 10 3600 8\n", `t.csv:2: 5 fields, want the 18 of the Standard Workload Format`},
		{Columns{"num_gpu=gpus"}, "; c\n1 0 10 3600 8\n", `t.csv: columns: num_gpu=gpus: the file has no column "gpus", only job_number,submit,wait`},
		{nil, "; c\n1 0 10 3600 8\n", `t.csv: this file has the Standard Workload Format, which counts processors and has no GPUs: add --columns num_gpu=processors`},
		{nil, `[{"a": 1}]`, `t.csv: this is JSON, of which only Philly's cluster_job_log is read`},
		{nil, philly(`"Pass"`, `"Done"`), `t.csv:object 1: column "status": value "Done", want Pass, Failed or Killed`},
		{nil, philly(`"p"`, `7`), `t.csv:object 1: jobid: 7, want text or null`},
		{nil, philly(`"p"`, `null`), `t.csv:object 1: column "jobid": value "", want a job id`},
		{nil, philly(`00:02:00`, `00:00:00`), `t.csv:object 1: column "end_time": value "2026-10-07 00:00:00", want no earlier than the start`},
		{nil, philly(`"g"]`, `"g"`), `t.csv:object 1: `},
		{nil, philly(`[{"ip": "m", "gpus": ["g"]}]`, `[{"ip": "m"}]`), `t.csv:object 1: [0].detail[0].gpus: missing`},
		{nil, philly(`[{"ip": "m", "gpus": ["g"]}]`, `7`), `t.csv:object 1: [0].detail: 7, want a list`},
		{nil, philly()[:40], `t.csv: this is JSON`},
		{nil, philly()[:120], `t.csv:object 1: `},
		{nil, "a,tf,x,Terminated,1,2,3,4,100,\n", `t.csv:1: column "inst_num": value "x", want a whole number`},
		{nil, "a,tf,1,Terminated,1,2,3,4,100,\nb,tf,1,Gone,1,2,3,4,100,\n", `t.csv:2: column "status": value "Gone", want Terminated, Failed`},
		{nil, "a,tf,1,Terminated,1,2,3,4,x,\n", `t.csv:1: column "plan_gpu": value "x", want a number from 0 to`},
		{nil, "a,tf,1048576,Terminated,1,2,3,4,200,\n", `t.csv:1: column "inst_num": value "1048576", want a task of at most 1048576 GPUs`},
		{nil, "a,i,u,Terminated,1,2\n", `t.csv: this is pai_job_table, which has no GPUs: read pai_task_table, alone or joined`},
		{nil, "a,tf,n,w,i,Terminated,1,2,m\n", `t.csv: this is pai_instance_table, which has no GPUs`},
		{nil, "job_name,inst_id,user,status,start_time,end_time\n", `this is pai_job_table`},
	} {
		if _, err := readText(c.text, Options{Columns: c.columns}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\n%v, want\n%s", c.text, err, c.want)
		}
	}
	for format, want := range map[Format]string{PAI: `t.csv:1: column "status": value "Odd"`, SWF: "t.csv:1: 1 fields, want the 18", PhillyLog: "t.csv:object 1: "} {
		opt := Options{Format: format}
		if format == SWF {
			opt.Columns = Columns{"num_gpu=processors"}
		}
		if _, err := readText("a,tf,1,Odd,1,2,3,4,100,\n", opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a file that is named as %s: %v, want %s", format, err, want)
		}
	}
	long := `[{"jobid":"` + strings.Repeat("x", 5000) + `","attempts":[]}]`
	if _, err := readText(long, Options{MaxLine: 4096}); err == nil || !strings.Contains(err.Error(), "t.csv:object 1: trace exceeds a limit: more than 4096 bytes in one object") {
		t.Errorf("a long object: %v", err)
	}
	if _, err := readText("["+strings.Repeat(philly()[1:len(philly())-1]+",", 3)+"{}]", Options{MaxRows: 2, SkipBadRows: true}); err == nil ||
		!strings.Contains(err.Error(), "t.csv:object 3: trace exceeds a limit: more than 2 rows") {
		t.Errorf("many objects: %v", err)
	}
}
