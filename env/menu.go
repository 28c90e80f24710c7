package env

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// Level is an entry of the menu: what a worker gets, relative to what its job asks for.
type Level struct {
	Name     string  `json:"name"`
	GPUShare float64 `json:"gpu_share"`
	CPU      float64 `json:"cpu"`
	Memory   float64 `json:"memory"`
}

// AsRequested is the menu that leaves every amount as the job asks for it.
func AsRequested() []Level {
	return []Level{{Name: "as requested", GPUShare: 1, CPU: 1, Memory: 1}}
}

// Of returns what a worker of the job gets at this level: at least a thousandth of a GPU, at most a whole one.
func (l *Level) Of(request cluster.Amount) cluster.Amount {
	if l.GPUShare == 1 && l.CPU == 1 && l.Memory == 1 {
		return request
	}
	return cluster.Amount{
		GPUMilli: min(max(int32(float64(request.GPUMilli)*l.GPUShare), 1), cluster.WholeGPU),
		CPUMilli: int32(float64(request.CPUMilli) * l.CPU),
		MemMiB:   int32(float64(request.MemMiB) * l.Memory), GPUMemMiB: request.GPUMemMiB,
	}
}

// Round carries out joint actions on a transaction. It keeps its scratch space; not safe for concurrent use.
type Round struct {
	spec    Spec
	claims  []cluster.Placement // per job of the window, with all the workers that the server takes
	refused []int32
}

// NewRound returns a Round for environments of that shape.
func NewRound(spec Spec) *Round {
	return &Round{spec: spec, claims: make([]cluster.Placement, spec.Window), refused: make([]int32, 0, spec.Agents)}
}

// Apply carries out the joint action. The agents that claim one job are served from the one with the most free GPUs down,
// the lower agent first among equals: each gives it as many workers as its server takes and the gang still lacks, but leaves
// one (or one tensor-parallel group) for every claim that follows. Claims beyond that lose, the last first; a gang that its
// claims do not complete does not start at all, and all of them lose. Of claims on several types of GPUs, for a gang that may
// hold only one, those on the first type that completes it are served. It returns how many jobs started and the agents whose
// claim lost, ascending within a job and valid until the next call. Masks must have been checked.
func (r *Round) Apply(tx *cluster.Txn, window []cluster.JobID, joint []Action) (started int, refused []int32) {
	for k := range r.claims {
		r.claims[k] = r.claims[k][:0]
	}
	r.refused = r.refused[:0]
	s := tx.State()
	for agent, a := range joint {
		if a == NoOp {
			continue
		}
		k, l := r.spec.Unpack(a)
		p := cluster.Piece{Server: cluster.ServerID(agent), Amount: r.spec.Menu[l].Of(s.Spec(window[k]).Request)}
		p.Workers = s.Fits(p.Server, window[k], p.Amount)
		r.claims[k] = append(r.claims[k], p)
	}
	for k, id := range window {
		if len(r.claims[k]) > 0 && r.start(tx, id, r.claims[k]) {
			started++
		}
	}
	return started, r.refused
}

// start settles the claims on one job.
func (r *Round) start(tx *cluster.Txn, id cluster.JobID, claims cluster.Placement) bool {
	s := tx.State()
	slices.SortStableFunc(claims, func(a, b cluster.Piece) int {
		return cmp.Compare(s.FreeGPUs(b.Server), s.FreeGPUs(a.Server))
	})
	left, together := s.Spec(id).Workers, s.Spec(id).Together()
	lost := len(r.refused)
	claims = r.oneType(s, id, claims)
	n := min(len(claims), int(left/together))
	for _, p := range claims[n:] {
		r.refused = append(r.refused, int32(p.Server))
	}
	for i := range claims[:n] {
		claims[i].Workers = min(claims[i].Workers, left-together*int32(n-1-i))
		left -= claims[i].Workers
	}
	ok := left == 0 && tx.Place(id, claims[:n]) == nil
	if !ok {
		for _, p := range claims[:n] {
			r.refused = append(r.refused, int32(p.Server))
		}
	}
	slices.Sort(r.refused[lost:])
	return ok
}

// oneType keeps, of the claims on a gang that may hold only one type of GPU, those on the first type whose claims complete it,
// or else those on the type of the first claim. The others lose.
func (r *Round) oneType(s *cluster.State, id cluster.JobID, claims cluster.Placement) cluster.Placement {
	chosen := claims[0].Server
	for _, p := range claims {
		sum := int32(0)
		for _, q := range claims {
			if s.SameType(id, p.Server, q.Server) {
				sum += q.Workers
			}
		}
		if sum >= s.Spec(id).Workers {
			chosen = p.Server
			break
		}
	}
	kept := claims[:0]
	for _, p := range claims {
		if s.SameType(id, chosen, p.Server) {
			kept = append(kept, p)
		} else {
			r.refused = append(r.refused, int32(p.Server))
		}
	}
	return kept
}

// Unpack splits an action other than no-op into the job of the window and the level of the menu.
func (s *Spec) Unpack(a Action) (job, level int) {
	i := int(a) - 1
	return i / len(s.Menu), i % len(s.Menu)
}
