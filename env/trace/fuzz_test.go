package trace

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/formattest"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/names"
)

// FuzzTrace checks the readers of all formats: that no file makes one return a job that the simulator would refuse, and that the
// jobs of a file read alike after they were written.
func FuzzTrace(f *testing.F) {
	fuzzFiles(f, Options{},
		sample(Native, `1,2,0.5,60,u,t,1000,500,64,passed,,,,,,,,,`, `"a ""b""",0,1,1,,,,,,,,,,,,,,,`,
			`3,1,9,9,,,250,,,killed,1,2,resnet50,u/1/2,,,V100|T4,true,4096`, `4,64,9,9,,,,,,,,,gpt,,4,8,V100,false,0`),
		sample(PhillyPass, `2017-10-09 07:01:55,66.0,1,66.0,11cb48`, `2017-10-09 07:01:54.25,1,8,8,x`),
		sample(PhillyAll, `0,1,1,0,1,0,1389243,0,Killed`, `1,2,8,0,4,395146,14405,0,Failed`),
		sample(Helios, `0,1,0,4,1,0,84,0,Pass`, `1,1,16,80,2,94,87,0,Pass`),
		sample(Kalos, `0,0.0,208,0.5,0.25,8,0,8.0,15.0,15.0,10.0,500`, `1,313.0,157,0.5,0.75,1,0,2.0,12.5,12.5,19.0,1000`),
		sample(OpenB, `p0,6000,12288,1,460,,LS,Running,10,100,20`, `p1,6000,12288,0,0,,BE,Failed,10,100,20`,
			`p2,1,1,8,1000,T4|P100,LS,Pending,10,100,`),
		sample(Acme, `a,u,1,8,96,SFT,COMPLETED,2026-03-01 00:00:01+08:00,2026-03-01 00:00:05+08:00,2026-03-01 01:00:05+08:00,3600.0,120`,
			`b,u,0,0,4,Other,CANCELLED,2026-03-01 00:00:02+08:00,,,0,`, `c,u,2,16,1.5e2,SFT,NODE_FAIL,7,8,9,,nan`),
		sample(HeliosLog, `7,u,vcA,1,8,64,COMPLETED,2026-03-01 00:00:01,2026-03-01 00:00:05,2026-03-01 01:00:05,3600`,
			`8,u,vcA,1,1,4,TIMEOUT,2026-03-01 00:00:02,None,None,`),
		sample(Sacct, `100,COMPLETED,2026-03-02T10:00:00,kim,lab,2026-03-02T10:05:00,2026-03-02T10:06:00,60,00:01:00,"gres/gpu=2","gres/gpu:t4=2"`,
			`101_3,CANCELLED by 7,2026-03-02T10:00:00,kim,lab,2026-03-02T10:05:00,Unknown,,1-00:01:00,gpu:(null):2,`,
			`102+0.batch,RUNNING,None,,,,,,,,`, `100,NODE_FAIL,2026-03-02T10:00:00,kim,,2026-03-02T10:01:00,2026-03-02T10:06:00,,,gres/gpu=1,`),
		"["+phillyJob+`{"jobid":"b","status":"Killed","submitted_time":"None","attempts":null}]`,
		`j,worker,2,Terminated,1000.0,2000.0,600.0,29.296875,50.0,V100`+"\n"+`j,ps,1,Failed,1000.0,2000.0,600.0,29.3,,`,
		`k,tf,4,Terminated,10,20,100,2,250,,i,ada,Terminated,5,30`)
}

func FuzzSWF(f *testing.F) {
	fuzzFiles(f, Options{Columns: Columns{"num_gpu=processors"}},
		"; Version: 2.2\n 1 0 10 3600 8 -1 -1 8 7200 -1 1 3 1 -1 1 -1 -1 -1\n 2 6e1 5 60 4 -1 -1 4 3600 -1 5 3 1 -1 1 -1 -1 -1\n")
}

const phillyJob = `{"jobid":"a","status":"Pass","vc":"v","user":"u","submitted_time":"2026-10-07 00:25:47","attempts":[{"start_time":` +
	`"2026-10-07 00:26:00","end_time":"2026-10-07 01:26:00","detail":[{"ip":"m1","gpus":["gpu0","gpu1"]},{"ip":"m2","gpus":["gpu0"]}]}]},`

// sample returns the name of a format, and after it a file with all its columns.
func sample(format Format, rows ...string) string {
	var columns []string
	for _, l := range layouts() {
		if l.format == format {
			columns = append(append(columns, l.required...), l.optional...)
		}
	}
	return string(format) + "\n" + strings.Join(columns, ",") + "\n" + strings.Join(rows, "\n") + "\n"
}

func fuzzFiles(f *testing.F, opt Options, files ...string) {
	opt.MaxLine, opt.MaxRows = 4096, 200
	for _, file := range files {
		head, rest, _ := strings.Cut(file, "\n")
		for _, change := range []*strings.Replacer{
			strings.NewReplacer("\n", "\r\n"), strings.NewReplacer("\n", "\n\x1b[2J"), strings.NewReplacer("\n", "\n\u202e"),
			strings.NewReplacer("\n", ",a,a\n\n"),
		} {
			files = append(files, head+"\n"+change.Replace(rest))
		}
	}
	read := func(text []byte, opt Options) (*Workload, error) {
		if name, file, _ := bytes.Cut(text, []byte("\n")); slices.Contains(Formats(), Format(name)) {
			opt.Format, text = Format(name), file
		}
		r, err := NewReader(bytes.NewReader(text), "fuzz", opt)
		if err != nil {
			return nil, err
		}
		w, err := r.Workload()
		return &w, err
	}
	formattest.Fuzz(f, formattest.Format[*Workload]{
		Read: func(text []byte) (*Workload, error) {
			w, err := read(text, opt)
			if err == nil && w.Report.Bad > 0 {
				panic("bad rows are read")
			}
			if err != nil {
				opt := opt
				opt.SkipBadRows = true
				w, err = read(text, opt)
			}
			return w, err
		},
		Check: checkWorkload,
	}, files...)
}

func checkWorkload(t *testing.T, w *Workload) {
	if rep := w.Report; rep.Jobs != len(w.Jobs) || rep.Rows != rep.Jobs+left(rep)+rep.Bad {
		t.Fatalf("%d jobs, report %+v", len(w.Jobs), rep)
	}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		for _, s := range []string{j.Name, j.User, j.Tenant, j.Model, j.Group, j.GPUType} {
			if !names.OK(s) {
				t.Fatalf("job %d has %q", i, s)
			}
		}
	}
	var out bytes.Buffer
	must.Do(t, WriteNative(&out, w.Jobs))
	again, err := readText(out.String(), Options{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	if !slices.Equal(again.Jobs, w.Jobs) {
		t.Fatalf("jobs %+v, read again %+v", w.Jobs, again.Jobs)
	}
	if s := Describe(w.Jobs); s.Jobs != len(w.Jobs) {
		t.Fatalf("described %d jobs of %d", s.Jobs, len(w.Jobs))
	}
}

// left returns the number of rows that are no jobs.
func left(r Report) (n int) {
	for _, c := range r.Left {
		n += c.Rows
	}
	return n
}

// FuzzParams checks that no parameter file makes the generator panic.
func FuzzParams(f *testing.F) {
	f.Add([]byte("name: x\n"), uint64(1))
	f.Add([]byte(tinyParams), uint64(1))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		p, err := parseParams(data)
		if err != nil {
			return
		}
		if !names.OK(p.Name) {
			t.Fatalf("name %q", p.Name)
		}
		w, err := Generate(p, 20, seed)
		if err != nil {
			return
		}
		for i := range w.Jobs {
			must.Do(t, checkNative(&w.Jobs[i]))
		}
	})
}

const tinyParams = `
name: tiny
arrivals: {per_day: 100, hourly: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1], day_spread: 0.1, cv: 1}
sizes: [{workers: 1, gpu_milli: 1000, share: 1}]
durations: [{max_workers: 8, mixture: [{weight: 1, mu: 5, sigma: 1}], max: 9000, passed: 1}]
users: {count: 3, zipf: 1, sticky: 0.1, repeat: 0.5, spread: 0.1}
`
