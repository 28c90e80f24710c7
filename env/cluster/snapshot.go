package cluster

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/clustergym/clustergym/internal/strictjson"
)

// snapshotVersion is the version of the snapshot format that this package writes and reads.
const snapshotVersion = 1

// Limits of a snapshot, against hostile or mistaken ones. The parser enforces them while it reads.
const (
	maxSnapshot     = 256 << 20                  // bytes
	maxSnapshotJobs = 1 << 22                    // jobs
	maxSnapshotGPUs = 1 << 22                    // servers times the GPUs of the largest server: searches for room scan that much
	maxQuotas       = 1 << 16                    // quotas
	maxWhere        = 1 << 28                    // servers times the number of distinct server sets of jobs
	maxTime         = 100 * 365 * 24 * time.Hour // of every instant and duration
	maxAttained     = math.MaxInt64 / 2          // GPU-time
)

// ReadSnapshot builds the state that a snapshot (cluster.json) describes, ready for Begin(Introduce()). A job's id is its index
// in the file. ReadSnapshot returns an error for anything outside the format: an unknown field, a name or id that occurs twice, a
// server that is not in the file, and pieces that do not fit (see State.Restore). The error contains the path of the field, its
// value and what was expected.
//
//	{"version": 1, "now_s": 86400.5,
//	 "servers": [{"name": "a", "gpus": 8, "cpu_milli": 96000, "mem_mib": null, "pool": "training", "on_loan": false}],
//	 "jobs": [{"id": "17", "user": "u", "tenant": "t", "submit_s": 80000, "workers": 2, "min_workers": 1, "max_workers": 4,
//	           "gpu_milli": 1000, "cpu_milli": 4000, "mem_mib": 0, "estimate_s": 3600, "state": "running",
//	           "starts": 1, "progress_s": 60, "attained_s": 120, "speed": 1,
//	           "placement": [{"server": "a", "workers": 2, "gpus": [0, 3]}]}]}
//
// Times are seconds since the clock's zero, with at most nine decimals; attained_s is GPU-seconds. A null CPU or memory means
// that it is not modelled. A job may leave out these fields (their defaults in parentheses): user, tenant, min_workers and
// max_workers (workers), gpu_milli (1000), cpu_milli and mem_mib (0), estimate_s (none), starts (1 if the job runs, otherwise 0),
// progress_s and attained_s (0), speed (1). A piece may have gpu_milli, cpu_milli and mem_mib of its own if it holds other
// amounts than the job requested. pool is training (the default) or inference; on_loan is false by default.
//
// Optional fields for what a cluster may model: a server may have gpu_type, gpu_mem_mib, rack, down and out_of_order (a list of
// failed GPUs). A job may have model, group, stages, tensor, gpu_type, mixed and servers (the names of the acceptable servers, by
// default all), gpu_mem_mib among its amounts, and readings: at most MaxReadings, ordered by time, each of another configuration,
// as in {"at_s": 60, "speed": 12.5, "workers": 2, "gpu_milli": 1000, "cpu_milli": 4000, "mem_mib": 0, "servers": 1, "racks": 1,
// "gpu_type": "V100", "shared": true}, of which at_s, speed and workers are needed. The top level may have per_gpu, offer (by
// default all inference servers), reclaim_by_s, quotas: [{"tenant": "t", "gpus": 16}] and no_preemption: true.
func ReadSnapshot(r io.Reader) (*State, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSnapshot+1))
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	return ParseSnapshot(context.Background(), text)
}

// ParseSnapshot is ReadSnapshot for a text in memory; the state keeps no reference to the text. ParseSnapshot takes time and
// memory linear in the length of the text. If ctx ends first, it returns the context's error.
func ParseSnapshot(ctx context.Context, text []byte) (*State, error) {
	if len(text) > maxSnapshot {
		return nil, fmt.Errorf("read snapshot: more than %d bytes", maxSnapshot)
	}
	p := snapshotParser{ctx: ctx, named: naming{ids: map[string]ServerID{}, sets: ServerSets{}}}
	p.r = snapshots.New(text, &p)
	p.read()
	if err := p.r.Located(); err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	return p.s, nil
}

// snapshotParser builds a state. It reports errors to r, which keeps the first.
type snapshotParser struct {
	ctx     context.Context
	r       *strictjson.Reader
	s       *State
	top     snapshotTop
	extras  []serverExtra // one per server, in their order
	largest int32         // number of GPUs of the largest server
	named   naming
	job     jobText
	pieces  Placement // of that job
}

// snapshotTop is the object of a snapshot. Its servers and jobs are read after its other fields, whatever their order in the
// text, because they depend on these.
type snapshotTop struct {
	Version   int           `snapshot:"version,need,1..snapshotVersion"`
	Now       time.Duration `snapshot:"now_s,need,seconds"`
	Spec      `snapshot:",inline"`
	Offer     int32            `snapshot:"offer"`
	ReclaimBy time.Duration    `snapshot:"reclaim_by_s,seconds"`
	Servers   strictjson.Place `snapshot:"servers,need,later"`
	Jobs      strictjson.Place `snapshot:"jobs,need,later"`
}

func (p *snapshotParser) read() {
	r, top := p.r, &p.top
	top.Offer = -1
	r.Struct(top)
	r.End()
	r.Return("servers", top.Servers)
	r.List(MaxServers, p.server)
	if r.Err() != nil {
		return
	}
	var err error
	if p.s, err = NewState(top.Spec, 0); err != nil {
		r.Fail(fmt.Errorf("servers: %w", err))
		return
	}
	p.s.Advance(top.Now)
	for i := range p.extras {
		p.s.restoreServer(ServerID(i), &p.extras[i])
	}
	if top.Offer >= 0 {
		p.s.SetOffer(top.Offer, top.ReclaimBy)
	}
	p.jobs()
}
