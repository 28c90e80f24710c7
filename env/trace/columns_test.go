package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestColumnsOfOthers checks that a file with other names and dates gives the same jobs as the native file that says the same.
func TestColumnsOfOthers(t *testing.T) {
	native := must.Get(readText("job_id,num_gpu,submit_time,duration,user\n17,8,0,3600,ada\n18,1,90.5,60,\n", Options{}))(t)
	for name, c := range map[string]struct {
		columns Columns
		text    string
	}{
		"names": {Columns{"job_id=id", "num_gpu=gpus", "submit_time=at", "duration=run"},
			"id,gpus,at,run,user,note\n17,8,0,3600,ada,x\n18,1,90.5,60,,\n"},
		"dates": {Columns{"num_gpu=gpus", "submit_time=created"},
			"job_id,gpus,created,duration,user\n17,8,2026-11-20 08:00:00,3600,ada\n18,1,2026-11-20 08:01:30.5,60,\n"},
		"a difference of dates, one of which is also the submit time": {
			Columns{"num_gpu=gpus", "submit_time=begun", "duration=ended-begun"},
			"job_id,gpus,begun,ended,user\n17,8,2026-11-20T08:00:00,2026-11-20T09:00:00,ada\n" +
				"18,1,2026-11-20 08:01:30.5,2026-11-20 08:02:30.5,\n"},
		"a difference of seconds": {Columns{"duration=t2-t1"},
			"t1,t2,job_id,num_gpu,submit_time,user\n5,3605,17,8,0,ada\n0,60,18,1,90.5,\n"},
		"a difference of columns with hyphens, after a space": {Columns{"num_gpu=gpus", " duration=end-at-start-at"},
			"start-at,end-at,job_id,gpus,submit_time,user\n5,3605,17,8,0,ada\n0,60,18,1,90.5,\n"},
		"a column with a hyphen": {Columns{"duration=run-time"}, "job_id,num_gpu,submit_time,run-time,user\n17,8,0,3600,ada\n18,1,90.5,60,\n"},
	} {
		w, err := readText(c.text, Options{Columns: c.columns})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range native.Jobs {
			if w.Jobs[i] != native.Jobs[i] {
				t.Errorf("%s: job %+v, want %+v", name, w.Jobs[i], native.Jobs[i])
			}
		}
	}
}

func TestColumnErrors(t *testing.T) {
	const header = "id,gpus,at,run\n"
	all := Columns{"job_id=id", "num_gpu=gpus", "submit_time=at", "duration=run"}
	for _, c := range []struct {
		columns Columns
		text    string
		want    string
	}{
		{nil, "id,num_gpus,timestamp,runtime\n", "did you mean --columns job_id=id,num_gpu=num_gpus,submit_time=timestamp,duration=runtime?"},
		{nil, "job_id,num_gpus,submit_time,duration\n", "did you mean --columns num_gpu=num_gpus?"},
		{nil, "Job Name,Alloc GPUs,Created At,Started At,Ended At,Owner,State\n", "did you mean --columns 'job_id=Job Name,num_gpu=Alloc GPUs," +
			"submit_time=Created At,duration=Ended At-Started At,user=Owner,status=State'?"},
		{nil, ";id;gpu_request;submitted;team;gpu_model\n", "did you mean --columns job_id=id,num_gpu=gpu_request,submit_time=submitted,tenant=team," +
			"gpu_type=gpu_model? No column looks like duration: add duration=COLUMN or duration=END-START"},
		{nil, "x,started,owner\n", "did you mean --columns user=owner? No column looks like job_id, num_gpu, submit_time, duration: " +
			"add job_id=COLUMN, num_gpu=COLUMN, submit_time=COLUMN, duration=COLUMN or duration=END-START"},
		{nil, "17,8,2026-11-20 08:00:00,3600\n", `the first line, "17,8,2026-11-20 08:00:00,3600", has values in place of names: put a header before it`},
		{nil, "job_id num_gpu  submit_time duration\n", "has spaces between its names: separate fields by commas, such as with tr -s ' ' ','"},
		{nil, "# made by hand\njob_id,num_gpu,submit_time,duration\n", `the first line, "# made by hand", is a comment: remove it`},
		{nil, "[]\n", "this is JSON"},
		{nil, "a,b\n", "cannot tell the trace format"},
		{Columns{"num_gpu"}, header, `"num_gpu", want a column of the native format, = and a column of the file`},
		{Columns{"cores=id"}, header, `"cores" is no column of the native format`},
		{Columns{"num_gpu=gpu"}, header, `the file has no column "gpu", only id,gpus,at,run`},
		{Columns{"num_gpu=gpus", "num_gpu=at"}, header, "num_gpu stands twice"},
		{Columns{"num_gpu=gpus"}, header, "the file has no column job_id: add job_id=id, with one of id,gpus,at,run"},
		{Columns{"job_id=gpus"}, "gpus,x\n", "the file has no column num_gpu: add num_gpu=gpus, with one of gpus,x"},
		{Columns{"num_gpu=gpus"}, "gpus,x\n", "the file has no column job_id: add job_id=COLUMN, with one of gpus,x"},
		{Columns{"duration=x-at"}, header, `the file has no column "x"`},
		{all, header + "1,x,0,1\n", `:2: column "gpus": value "x"`},
		{Columns{"job_id=id", "num_gpu=gpus", "submit_time=at", "duration=run-at"}, header + "1,1,2026-11-20 08:00:00,2026-11-20 08:00:05Z\n",
			`:2: column "run": value "2026-11-20 08:00:05Z", want the form of the start 2026-11-20 08:00:00: this is a date with time zone, and the start is a date without`},
		{all, header + "1,\"1,000\",0,1\n", `:2: column "gpus": value "1,000", want a number without commas`},
		{all, header + "1,1,2026-13-01 00:00:00,1\n", `:2: column "at": value "2026-13-01 00:00:00", want seconds, or a date`},
		{all, header + "1,1,1969-12-31 00:00:00,1\n", `column "at": value "1969-12-31 00:00:00"`},
		{all, header + "1,1,0,1\n2,1,2026-01-01 00:00:00,1\n", `:3: column "at": value "2026-01-01 00:00:00", want one form in all rows: this is a date without time zone, and the first ("0" in line 2) seconds`},
		{Columns{"job_id=id", "num_gpu=gpus", "submit_time=at", "duration=run-at"}, header + "1,1,5,4\n", `:2: column "run": value "4", want no earlier than the start 5`},
	} {
		if _, err := readText(c.text, Options{Columns: c.columns}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %q: %v, want %s", c.columns, c.text, err, c.want)
		}
	}
	if _, err := readText(header, Options{Columns: all, Format: Helios}); err == nil {
		t.Error("columns for a file of a known format are accepted")
	}
}

// TestDatesKeepDistances checks that dates in any offset from UTC give the distances between them.
func TestDatesKeepDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		begin := time.Unix(rapid.Int64Range(0, 3e9).Draw(t, "begin"), 0).UTC()
		var text strings.Builder
		text.WriteString("job_id,num_gpu,submit_time,duration\n")
		var want []time.Duration
		least := time.Duration(1 << 62)
		for i := range rapid.IntRange(1, 6).Draw(t, "jobs") {
			after := time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "after"))
			zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "offset"))
			fmt.Fprintf(&text, "%d,1,%s,1\n", i, begin.Add(after).In(zone).Format(time.RFC3339Nano))
			want, least = append(want, after), min(least, after)
		}
		w := must.Get(readText(text.String(), Options{}))(t)
		for i, j := range w.Jobs {
			if j.Submit != want[i]-least {
				t.Fatalf("job %d at %v, want %v in\n%s", i, j.Submit, want[i]-least, text.String())
			}
		}
	})
}

// TestProposals checks that the columns that an error proposes are accepted if it says that none lacks.
func TestProposals(t *testing.T) {
	var names []string
	for _, list := range usual {
		names = append(names, list...)
	}
	slices.Sort(names)
	rapid.Check(t, func(t *rapid.T) {
		own := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 8, rapid.ID).Draw(t, "names")
		if rapid.Bool().Draw(t, "all") {
			own = append(own, "Job Id", "gpu_count", "Submitted-At", "run_time")
		}
		if rapid.Bool().Draw(t, "capitals") {
			for i := range own {
				own[i] = strings.ToUpper(own[i])
			}
		}
		h := newHeader(own)
		entries, lacks := propose(h)
		if _, err := Columns(entries).pick(h, nil); len(entries) > 0 && (err == nil) != (lacks == "") {
			t.Fatalf("%v: %v, %q: %v", own, entries, lacks, err)
		}
	})
}

// TestReadingStops checks that a reader ends when it is told to.
func TestReadingStops(t *testing.T) {
	stop := make(chan struct{})
	close(stop)
	if _, err := readText("job_id,num_gpu,submit_time,duration\n1,1,0,1\n", Options{Stop: stop}); err == nil {
		t.Error("the reader reads on")
	}
}

// FuzzColumns checks that no list of columns and no file make the reader panic, and that what it reads can be written.
func FuzzColumns(f *testing.F) {
	f.Add("num_gpu=gpus,duration=e-s", "job_id,gpus,submit_time,s,e\n1,2,0,2026-11-20 08:00:00,2026-11-20 09:00:00\n")
	f.Add("job_id=a,num_gpu=a,submit_time=a,duration=a", "a\n1\n")
	f.Add("duration=-,=,num_gpu=", "-\n")
	f.Fuzz(func(t *testing.T, columns, text string) {
		w, err := readText(text, Options{Columns: strings.Split(columns, ","), MaxRows: 100})
		if err != nil {
			return
		}
		must.Do(t, WriteNative(&strings.Builder{}, w.Jobs))
	})
}
