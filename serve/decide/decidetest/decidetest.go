// Package decidetest contains helpers for the tests of deciders and of the servers that use them.
package decidetest

import (
	"bytes"
	"sync"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/policy"
)

// Snapshot contains two servers of four GPUs, one running job and two waiting jobs.
const Snapshot = `{"version":1,"now_s":100,
"servers":[{"name":"a","gpus":4,"cpu_milli":null,"mem_mib":null},{"name":"b","gpus":4,"cpu_milli":null,"mem_mib":null}],
"jobs":[{"id":"r","submit_s":0,"workers":2,"estimate_s":500,"state":"running",
"placement":[{"server":"a","workers":2,"gpus":[0,1]}]},
{"id":"x<y","submit_s":10,"workers":2,"estimate_s":60,"state":"pending"},
{"id":"big","submit_s":20,"workers":8,"estimate_s":600,"state":"pending"}]}`

// Baseline returns the named baseline as a policy.
func Baseline(name string) *policy.Policy {
	return &policy.Policy{Name: name, New: func() (cluster.Scheduler, error) { return baselines.New(name) }}
}

// Random returns a team of the design whose weights are drawn from the named stream of seed 1.
func Random(tb testing.TB, d agents.Design, stream string) *agents.Policy {
	tb.Helper()
	draw := rng.Stream(1, stream)
	p, err := d.Make(func(s agents.Shape) (agents.Params, error) {
		params := agents.Init(s, draw)
		for i := range params {
			for k := range params[i].Data {
				params[i].Data[k] += float32(0.3 * draw.NormFloat64())
			}
		}
		return params, nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// Script is a scheduler that calls a function of a test.
type Script func(*cluster.Txn) error

// Name implements cluster.Scheduler.
func (Script) Name() string { return "scripted" }

// Reset implements cluster.Scheduler.
func (Script) Reset(uint64) error { return nil }

// Schedule implements cluster.Scheduler.
func (f Script) Schedule(tx *cluster.Txn) error { return f(tx) }

// Policy returns the script as a policy.
func (f Script) Policy() *policy.Policy {
	return &policy.Policy{Name: f.Name(), Digest: "d1", New: func() (cluster.Scheduler, error) { return f, nil }}
}

// Said collects the text of a log. It is safe for concurrent use.
type Said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (s *Said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *Said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
