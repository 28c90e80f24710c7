package trace

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

const sacctHeader = "JobID|JobName|User|Account|State|Submit|Start|End|ElapsedRaw|Timelimit|ReqTRES|AllocTRES\n"

// sacctLine returns a row of an allocation that began five minutes after its submission.
func sacctLine(id, state string, seconds int, asked, held string) string {
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	start := at.Add(5 * time.Minute)
	return fmt.Sprintf("%s|n|kim|physics|%s|%s|%s|%s|%d|2-00:00:00|%s|%s\n", id, state, at.Format("2006-01-02T15:04:05"),
		start.Format("2006-01-02T15:04:05"), start.Add(time.Duration(seconds)*time.Second).Format("2006-01-02T15:04:05"), seconds, asked, held)
}

func TestSacct(t *testing.T) {
	text := sacctHeader + sacctLine("700", "COMPLETED", 90, "cpu=8,gres/gpu:h100=2", "billing=2,cpu=8,gres/gpu:h100=2,gres/gpu=2,mem=10G,node=1") +
		sacctLine("700.batch", "COMPLETED", 90, "", "cpu=8,gres/gpu=2,mem=10G,node=1") +
		sacctLine("700.extern", "COMPLETED", 90, "", "cpu=8,gres/gpu=2") + sacctLine("700.0", "COMPLETED", 90, "", "cpu=8,gres/gpu=2") +
		sacctLine("701_12", "CANCELLED by 2001", 30, "gres/gpu=1", "cpu=3,gres/gpu=1,mem=1.50G") +
		"701_[13-40%4]|n|kim|physics|PENDING|2026-03-02T10:00:00|Unknown|Unknown|0|UNLIMITED|gres/gpu=1|\n" +
		sacctLine("702+0", "TIMEOUT", 40, "gres/gpu=4", "cpu=4,gres/gpu=4") + sacctLine("702+0.batch", "TIMEOUT", 40, "", "") +
		sacctLine("702+1", "TIMEOUT", 40, "cpu=4", "cpu=4") +
		sacctLine("703", "RUNNING", 40, "gres/gpu=1", "gres/gpu=1") +
		"704|n|kim|physics|CANCELLED|2026-03-02T10:00:00|None|2026-03-02T10:01:00|0|Partition_Limit|gres/gpu=1|\n" +
		sacctLine("705", "OUT_OF_MEMORY", 10, "gres/gpu=1", "") + sacctLine("706", "FAILED", 0, "gres/gpu=1", "gres/gpu=1") +
		sacctLine("707", "REVOKED", 10, "gres/gpu=1", "gres/gpu=1") + sacctLine("708", "NODE_FAIL", 10, "gres/shard=2", "gres/shard=2") +
		sacctLine("709", "PREEMPTED", 20, "gres/gpu=1", "gres/gpu:h100_1g.10gb=1,gres/gpu=1") +
		"710|\"a|kim|physics|COMPLETED|Unknown|2026-03-02T10:00:00|2026-03-02T10:01:00|60||gres/gpu=1|gres/gpu=1\n"
	w := must.Get(readText(text, Options{}))(t)
	var got []string
	for i := range w.Jobs {
		j := &w.Jobs[i]
		got = append(got, fmt.Sprintf("%s %d %v %v %v %s %d %d", j.Name, j.Workers, j.Submit, j.Work, j.Status, j.GPUType, j.Request.CPUMilli, j.Request.MemMiB))
	}
	want := []string{
		"700 2 0s 1m30s passed h100 4000 5120", "701_12 1 0s 30s killed  3000 1536", "702+0 4 0s 40s failed  1000 0", "705 1 0s 10s failed  0 0",
		"709 1 0s 20s killed  0 0",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("jobs\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if j := &w.Jobs[0]; j.User != "kim" || j.Tenant != "physics" || j.Request.GPUMilli != cluster.WholeGPU {
		t.Errorf("%+v", j)
	}
	lines := strings.Join(w.Report.Lines(), "\n")
	for _, line := range []string{
		"4 of 17 rows are steps of jobs", "2 of 17 rows were never scheduled", "1 of 17 rows ask for no GPU", "1 of 17 rows have not ended",
		"1 of 17 rows ran for no time", "1 of 17 rows are copies of jobs that ran in another cluster", "1 of 17 rows hold shards or MPS",
		"1 of 17 rows have no submit time", "1 of 17 rows hold no GPU in AllocTRES", "1 of 17 rows are components of heterogeneous jobs",
		"1 of 17 rows hold instances of divided GPUs", "1 of 17 rows name the type of the GPUs that they got", "2 columns are not read: JobName,Timelimit",
		"have no time zone",
	} {
		if !strings.Contains(lines, line) {
			t.Errorf("report\n%s\nwant %s", lines, line)
		}
	}
	if left(w.Report) != 12 || w.Report.Format != Sacct {
		t.Errorf("%+v", w.Report)
	}
}

// TestRunsOfRequeuedJobs checks what becomes of rows of one job, as sacct -D prints them, and of files that overlap.
func TestRunsOfRequeuedJobs(t *testing.T) {
	first, second := sacctLine("8", "NODE_FAIL", 50, "", "gres/gpu=1"), sacctLine("8", "COMPLETED", 70, "", "gres/gpu=1")
	w, err := readText(sacctHeader+first+second+first+sacctLine("9", "COMPLETED", 50, "", "gres/gpu=1")+sacctHeader+second+second, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Jobs) != 3 || w.Jobs[0].Name != "8" || w.Jobs[1].Name != "8#2" || w.Jobs[1].Status != Passed || w.Jobs[2].Name != "9" {
		t.Errorf("%+v", w.Jobs)
	}
	lines := strings.Join(w.Report.Lines(), "\n")
	for _, line := range []string{"3 of 7 rows repeat an earlier row", "1 of 7 rows are further runs of requeued jobs", "1 of 7 rows repeat the header"} {
		if !strings.Contains(lines, line) {
			t.Errorf("report\n%s\nwant %s", lines, line)
		}
	}
}

func TestFormsOfSacct(t *testing.T) {
	const tres = "cpu=4,gres/gpu=3,mem=6G"
	for name, text := range map[string]string{
		"separated by commas": "JobID,State,Submit,ElapsedRaw,AllocTRES\n5,COMPLETED,2026-03-02T10:00:00,61,\"" + tres + "\"\n",
		"with -p":             "JobID|State|Submit|ElapsedRaw|AllocTRES|\n5|COMPLETED|2026-03-02T10:00:00|61|" + tres + "|\n",
		"tabs":                "JobID\tState\tSubmit\tElapsedRaw\tAllocTRES\n5\tCOMPLETED\t2026-03-02T10:00:00\t61\t" + tres + "\n",
		"Elapsed":             "JobID|State|Submit|Elapsed|AllocTRES\n5|COMPLETED|2026-03-02T10:00:00|00:01:01|" + tres + "\n",
		"Elapsed in minutes":  "JobID|State|Submit|Elapsed|AllocTRES\n5|COMPLETED|2026-03-02T10:00:00|01:01|" + tres + "\n",
		"Start and End":       "JobID|State|Submit|Start|End|AllocTRES\n5|COMPLETED|2026-03-02T10:00:00|2026-03-02T10:00:09|2026-03-02T10:01:10|" + tres + "\n",
		"ReqTRES alone":       "JobID|State|Submit|ElapsedRaw|ReqTRES\n5|COMPLETED|2026-03-02T10:00:00|61|" + tres + "\n",
		"seconds of Unix":     "JobID|State|Submit|ElapsedRaw|AllocTRES\n5|COMPLETED|1772445600|61|" + tres + "\n",
		"other capitals":      "jobid|state|submit|elapsedraw|alloctres\n5|completed|2026-03-02T10:00:00|61|" + tres + "\n",
		"a quote in a name":   "JobName|JobID|State|Submit|ElapsedRaw|AllocTRES\n\"x\" y|5|COMPLETED|2026-03-02T10:00:00|61|" + tres + "\n",
		"a name in Latin-1":   "JobName|JobID|State|Submit|ElapsedRaw|AllocTRES\nk\xe9r|5|COMPLETED|2026-03-02T10:00:00|61|" + tres + "\n",
	} {
		w, err := readText(text, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if j := &w.Jobs[0]; len(w.Jobs) != 1 || j.Name != "5" || j.Workers != 3 || j.Work != 61*time.Second || j.Submit != 0 || j.Request.CPUMilli != 1333 ||
			j.Request.MemMiB != 2048 || j.Status != Passed {
			t.Errorf("%s: %+v", name, w.Jobs)
		}
	}
	w, err := readText("JobID|State|Submit|Elapsed|AllocTRES\n5|COMPLETED|2026-03-02T10:00:00|3-02:00:05|"+tres+"\n", Options{})
	if err != nil || w.Jobs[0].Work != 74*time.Hour+5*time.Second {
		t.Errorf("%v, %+v", err, w.Jobs)
	}
}

func TestBadSacct(t *testing.T) {
	const header = "JobID|State|Submit|ElapsedRaw|AllocTRES\n"
	row := func(id, state, submit, elapsed, tres string) string {
		return header + strings.Join([]string{id, state, submit, elapsed, tres}, "|") + "\n"
	}
	const at = "2026-03-02T10:00:00"
	for _, c := range []struct{ text, want string }{
		{row("x", "COMPLETED", at, "1", "gres/gpu=1"), `:2: column "JobID": value "x", want a job of Slurm`},
		{row("5", "ASLEEP", at, "1", "gres/gpu=1"), `column "State": value "ASLEEP", want a state of Slurm`},
		{row("5", "", at, "1", "gres/gpu=1"), `column "State": value "", want a state of Slurm`},
		{row("5", "FAILED", "noon", "1", "gres/gpu=1"), `column "Submit": value "noon", want`},
		{row("5", "FAILED", at, "-1", "gres/gpu=1"), `column "ElapsedRaw": value "-1", want`},
		{row("5", "FAILED", at, "1", "gres/gpu=one"), `column "AllocTRES": value "gres/gpu=one", want an amount such as cpu=16`},
		{row("5", "FAILED", at, "1", "gres/gpu=2000000"), "at most 1048576 GPUs"},
		{row("5", "FAILED", at, "1", "gres/gpu=1|x"), "6 fields, want 5: a name or an amount contains what separates fields"},
		{row("5", "FAILED", at, "1", "cpu=1"), "no job: 1 rows, of which 1 ask for no GPU; sacct names GPUs only where AccountingStorageTRES of slurm.conf has gres/gpu"},
		{"JobID|State|Submit|Elapsed\n5|FAILED|" + at + "|1\n", "the header lacks AllocTRES or ReqTRES"},
		{"JobID|State|Submit|AllocTRES\n5|FAILED|" + at + "|gres/gpu=1\n", "the header lacks AllocTRES or ReqTRES, or a duration"},
		{"JobID|JobName|Partition|Account|AllocCPUS|State|ExitCode\n5|a|b|c|1|COMPLETED|0:0\n", `of sacct lacks Submit: want what this prints: sacct -a`},
		{"JobIDRaw|Submit|Start|End|AllocTRES\n1|" + at + "|" + at + "|" + at + "|gres/gpu=1\n", "of sacct lacks JobID, State: want"},
		{"5|a|b|c|1|COMPLETED|0:0\n", "sacct prints without a header: leave out -n"},
		{"5_[1-3]|a|b|PENDING\n", "sacct prints without a header: leave out -n"},
		{"JobID           JobName  Partition    Account  AllocCPUS      State ExitCode\n---\n", "sacct prints without -P"},
	} {
		for _, skip := range []bool{false, true} {
			_, err := readText(c.text, Options{SkipBadRows: skip})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.text, err, c.want)
			}
		}
	}
	if _, err := readText("JobID|JobName|Partition|State\n", Options{}); !errors.Is(err, ErrFormat) {
		t.Errorf("%v", err)
	}
}

// TestSacctCountsEveryRow draws accounting and checks that every allocation with GPUs that ran and ended becomes a job, and that every
// other row is counted.
func TestSacctCountsEveryRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		text.WriteString(sacctHeader)
		rows, jobs, gpus := rapid.IntRange(1, 20).Draw(t, "rows"), 0, 0
		for n := range rows {
			id := fmt.Sprintf(rapid.SampledFrom([]string{"%d", "%d_3", "%d+1", "%d.batch", "%d_4.0"}).Draw(t, "id"), 1000+n)
			state := rapid.SampledFrom([]string{"COMPLETED", "FAILED", "CANCELLED by 7", "RUNNING", "PENDING", "TIMEOUT"}).Draw(t, "state")
			seconds, count := rapid.IntRange(0, 2).Draw(t, "seconds"), rapid.IntRange(0, 2).Draw(t, "GPUs")
			text.WriteString(sacctLine(id, state, seconds, "", fmt.Sprintf("cpu=1,gres/gpu:t4=%[1]d,gres/gpu=%[1]d", count)))
			if !strings.Contains(id, ".") && state != "RUNNING" && state != "PENDING" && seconds > 0 && count > 0 {
				jobs, gpus = jobs+1, gpus+count
			}
		}
		w, err := readText(text.String(), Options{})
		if jobs == 0 {
			if !errors.Is(err, ErrNoJob) {
				t.Fatal(err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range w.Jobs {
			gpus -= int(w.Jobs[i].Workers)
		}
		if len(w.Jobs) != jobs || gpus != 0 || left(w.Report) != rows-jobs || w.Report.Rows != rows {
			t.Fatalf("%d jobs, want %d; %+v\n%s", len(w.Jobs), jobs, w.Report, text.String())
		}
	})
}
