package eval

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"pgregory.net/rapid"
)

func TestStaysAndPiecesOfAKnownTimeline(t *testing.T) {
	log := timeline(t)
	want := []string{
		"10s to 20s until preempt: [{0 0 2 1000 0}]; 45s to 1m10s until finish: [{0 0 2 1000 0}]",
		"20s to 45s until finish: [{0 0 2 1000 0} {1 0 2 1000 0}]",
		"45s to 45.25s until migrate: [{1 0 1 1000 0}]; 45.25s to 50.5s until finish: [{1 0 1 1000 0}]",
	}
	if got := told(log); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	at := slices.IndexFunc(log.Records, func(r sim.Record) bool { return r.Kind == sim.Migrate })
	log.Records = log.Records[:at+1]
	want[0] = "10s to 20s until preempt: [{0 0 2 1000 0}]; 45s to 45.25s until end: [{0 0 2 1000 0}]"
	want[2] = "45s to 45.25s until migrate: [{1 0 1 1000 0}]; 45.25s to 45.25s until end: [{1 0 1 1000 0}]"
	if got := told(log); !slices.Equal(got, want) {
		t.Errorf("cut off: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// told formats the stays of every job, one job per line.
func told(log *sim.Log) (lines []string) {
	for _, stays := range Stays(log) {
		var b []string
		for _, s := range stays {
			b = append(b, fmt.Sprintf("%v to %v until %v: %v", s.From, s.To, s.End, s.Pieces))
		}
		lines = append(lines, strings.Join(b, "; "))
	}
	return lines
}

// TestSharesAreInAscendingOrder checks the pieces of a gang of shares that takes a GPU already shared before free ones, so that the
// record does not list its GPUs in ascending order.
func TestSharesAreInAscendingOrder(t *testing.T) {
	const s = time.Second
	jobs := []trace.Job{job("whole", 0, 10*s, 2), job("share", 0, 60*s, 1), job("gang", 10*s, 60*s, 3)}
	jobs[1].Request.GPUMilli, jobs[2].Request.GPUMilli = 500, 500
	all := &script{"all", func(tx *cluster.Txn) error {
		for _, id := range slices.Clone(tx.View().Pending()) {
			if err := tx.Place(id, cluster.Placement{{Workers: jobs[id].Workers, Amount: jobs[id].Request}}); err != nil {
				return err
			}
		}
		return nil
	}}
	log := episode(t, sim.Config{Cluster: cluster.Uniform(1, 3)}, jobs, all)
	r := &log.Records[slices.IndexFunc(log.Records, func(r sim.Record) bool { return r.Kind == sim.Start && r.Job == 2 })]
	gpus := slices.Clone(log.GPUs(r))
	if slices.IsSorted(gpus) {
		t.Fatalf("the gang holds %v, want another order", gpus)
	}
	got, want := Stays(log)[2][0].Pieces, []Piece{{0, 0, 1, 500, 0}, {0, 1, 1, 500, 0}, {0, 2, 1, 500, 500}}
	if !slices.Equal(got, want) {
		t.Errorf("GPUs %v are pieces %v, want %v", gpus, got, want)
	}
	if !slices.Equal(log.GPUs(r), gpus) {
		t.Errorf("the log's GPUs became %v", log.GPUs(r))
	}
}

// TestPiecesCoverThePlacement checks that the pieces of a stay lie only on GPUs of its record, cover what it holds of each once, and
// that no two pieces of whole GPUs are adjacent.
func TestPiecesCoverThePlacement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		for _, stay := range slices.Concat(Stays(log)...) {
			type gpu struct {
				server cluster.ServerID
				gpu    int32
			}
			left := map[gpu]int32{}
			gpus := log.GPUs(stay.Record)
			for _, p := range log.Placement(stay.Record) {
				for range p.Workers {
					left[gpu{p.Server, gpus[0]}] += p.GPUMilli
					gpus = gpus[1:]
				}
			}
			for k, p := range stay.Pieces {
				if before := stay.Pieces[max(k-1, 0)]; k > 0 && before.Server == p.Server && before.GPU+before.Count == p.GPU &&
					before.GPUMilli == cluster.WholeGPU && p.GPUMilli == cluster.WholeGPU {
					t.Fatalf("pieces %v and %v touch", before, p)
				}
				if p.Top < 0 || p.Top+p.GPUMilli > cluster.WholeGPU || p.Count > 1 && p.GPUMilli < cluster.WholeGPU {
					t.Fatalf("piece %+v stands outside its GPU", p)
				}
				for g := range p.Count {
					left[gpu{p.Server, p.GPU + g}] -= p.GPUMilli
				}
			}
			for at, milli := range left {
				if milli != 0 {
					t.Fatalf("pieces %v leave out %d of %v", stay.Pieces, milli, at)
				}
			}
		}
	})
}

// TestStaysAreWhereRecordsPutJobs checks that at every time a job has exactly one stay, where the last record about it placed it.
func TestStaysAreWhereRecordsPutJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		stays := Stays(log)
		scenes(log, func(from, to time.Duration, c scene) {
			for id := range log.Jobs {
				var here []*sim.Record
				for _, s := range stays[id] {
					if s.From <= from && s.To >= to {
						here = append(here, s.Record)
					} else if s.From < to && s.To > from {
						t.Fatalf("job %d: a stay from %v to %v ends or begins within %v to %v", id, s.From, s.To, from, to)
					}
				}
				if r := c.placed[cluster.JobID(id)]; len(here) > 1 || r != nil && !slices.Contains(here, r) || r == nil && len(here) > 0 {
					t.Fatalf("job %d from %v to %v: stays %v, but is where %v put it", id, from, to, here, r)
				}
			}
		})
		for id, all := range stays {
			for i, s := range all {
				if i > 0 && s.From < all[i-1].To || s.From > s.To || s.Record.At != s.From || int(s.Record.Job) != id {
					t.Fatalf("job %d: stay %d is %+v after %+v", id, i, s, all[:i])
				}
			}
		}
	})
}

// TestSpellsCoverWhatRecordsSay checks that at every time the spells agree with the records on how many servers are on loan and
// down, and how many GPUs have failed.
func TestSpellsCoverWhatRecordsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		spells := Spells(log)
		p := newPools(log)
		for i := range log.Records {
			r := &log.Records[i]
			switch r.Kind {
			case sim.Loan, sim.Reclaim, sim.Seize, sim.Fail, sim.Repair:
				p.follow(r)
			}
			if i+1 == len(log.Records) || log.Records[i+1].At == r.At {
				continue // the state matters only after the last record of an instant
			}
			lent, down, broken := map[cluster.ServerID]int{}, map[cluster.ServerID]int{}, map[cluster.ServerID]int64{}
			for _, s := range spells {
				switch {
				case s.From > r.At || s.To <= r.At:
				case s.Lent:
					lent[s.Server]++
				case s.GPU < 0:
					down[s.Server]++
				default:
					broken[s.Server]++
				}
			}
			for id := range log.Config.Cluster.Servers {
				server := cluster.ServerID(id)
				if (lent[server] == 1) != p.lent[id] || (down[server] == 1) != p.down[id] || broken[server] != p.broken[id] {
					t.Fatalf("at %v: server %d has %d loans, %d failures and %d broken GPUs, want %v, %v and %d",
						r.At, id, lent[server], down[server], broken[server], p.lent[id], p.down[id], p.broken[id])
				}
			}
		}
	})
}
