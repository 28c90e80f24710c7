// Package browser simulates small workloads for a page that runs the simulator in a browser: a request and an answer as JSON,
// under limits with which an answer takes about a second. It reads no files and links no learned policy.
package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/console"
)

// Request is what to simulate: the same generated jobs under each policy, on servers that are all alike.
type Request struct {
	Policies []string `json:"policies"`
	Servers  int      `json:"servers"`
	GPUs     int      `json:"gpus_per_server"`
	Jobs     int      `json:"jobs"`
	Load     float64  `json:"load"` // what the jobs ask for, of what the cluster has
	Seed     uint64   `json:"seed"`
}

// Limits of a request.
const (
	mostPolicies = 4
	mostServers  = 32
	mostGPUs     = 8
	mostJobs     = 500
	leastLoad    = 0.1
	mostLoad     = 4
	mostBytes    = 4 << 10
)

// The size of a drawing in characters.
const (
	columns = 100
	lines   = 22 // of each schedule
)

// Policies returns the names of the policies that may be asked for.
func Policies() []string {
	return []string{"fifo", "sjf", "sjfskip", "srtf", "las", "srsf", "serverfilling", "random"}
}

// Answer contains what each policy did with the jobs.
type Answer struct {
	Schedules []Schedule `json:"schedules"`
	Text      string     `json:"text"` // the schedules, drawn one above the other
}

// Schedule contains the figures of one policy.
type Schedule struct {
	Policy string `json:"policy"`
	eval.Metrics
}

// JSON answers a request in JSON. Errors are for the person who filled in the form.
func JSON(request string) (string, error) {
	r, err := parse(request)
	if err != nil {
		return "", err
	}
	answer, err := Simulate(r)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return "", fmt.Errorf("write answer: %w", err)
	}
	return string(text), nil
}

func parse(text string) (*Request, error) {
	if len(text) > mostBytes {
		return nil, fmt.Errorf("a request of %d bytes, want at most %d", len(text), mostBytes)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	var r Request
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read request: more after the object, want nothing")
	}
	return &r, r.check()
}

func (r *Request) check() error {
	if n := len(r.Policies); n < 1 || n > mostPolicies {
		return fmt.Errorf("%d policies, want 1 to %d", n, mostPolicies)
	}
	for _, name := range r.Policies {
		if !slices.Contains(Policies(), name) {
			return fmt.Errorf("policy %q, want one of %s", name, strings.Join(Policies(), ", "))
		}
	}
	for _, f := range []struct {
		what    string
		n, most int
	}{{"servers", r.Servers, mostServers}, {"GPUs per server", r.GPUs, mostGPUs}, {"jobs", r.Jobs, mostJobs}} {
		if f.n < 1 || f.n > f.most {
			return fmt.Errorf("%s: %d, want 1 to %d", f.what, f.n, f.most)
		}
	}
	if !(r.Load >= leastLoad && r.Load <= mostLoad) {
		return fmt.Errorf("load: %v, want %v to %v", r.Load, leastLoad, float64(mostLoad))
	}
	return nil
}

// Simulate answers a request, which need not be checked.
func Simulate(r *Request) (*Answer, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	spec := cluster.Uniform(r.Servers, r.GPUs)
	jobs, err := r.workload(&spec)
	if err != nil {
		return nil, err
	}
	out := &Answer{}
	var logs []*sim.Log
	for _, name := range r.Policies {
		s, err := baselines.New(name)
		if err != nil {
			return nil, err
		}
		run, err := sim.New(sim.Config{Cluster: spec}, jobs)
		if err != nil {
			return nil, err
		}
		if err := run.Run(context.Background(), s, r.Seed); err != nil {
			return nil, err
		}
		logs = append(logs, run.Log())
		out.Schedules = append(out.Schedules, Schedule{name, eval.Measure(run.Log())})
	}
	var text strings.Builder
	err = console.Gantt(&text, console.Options{Width: columns, Height: lines * len(logs)}, logs...)
	out.Text = text.String()
	return out, err
}

// workload draws the jobs: gangs that are too large for the cluster ask for all of it. Schedulers are told the run times.
func (r *Request) workload(spec *cluster.Spec) ([]trace.Job, error) {
	p, err := trace.Default().WithLoad(r.Load, r.Servers*r.GPUs)
	if err != nil {
		return nil, err
	}
	w, err := trace.Generate(p, r.Jobs, r.Seed)
	if err != nil {
		return nil, err
	}
	room := spec.Rooms()
	for i := range w.Jobs {
		w.Jobs[i].Request = cluster.Amount{GPUMilli: cluster.WholeGPU} // the page models neither CPU nor memory
	}
	fits := func(j *cluster.JobSpec) bool { return int64(j.Workers) <= room(j) }
	jobs, _, err := trace.Oversize(w.Jobs, fits, trace.OversizeClamp, int32(spec.GPUs()))
	if err != nil {
		return nil, err
	}
	first := jobs[0].Submit
	for i := range jobs {
		jobs[i].Submit, jobs[i].Estimate = jobs[i].Submit-first, jobs[i].Work
	}
	return jobs, nil
}
