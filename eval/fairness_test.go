package eval

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"pgregory.net/rapid"
)

func TestFinishTimeFairnessIsThatOfPlainLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		var rho []float64
		unfair := 0
		for _, r := range Rows(log) {
			if !r.Finished {
				continue
			}
			asked, open := new(big.Rat), new(big.Rat)
			scenes(log, func(from, to time.Duration, c scene) {
				if d := min(to, r.End) - max(from, r.Submit); d > 0 {
					asked.Add(asked, big.NewRat(c.asked()*int64(d), 1))
					open.Add(open, big.NewRat(1000*c.open()*int64(d), 1))
				}
			})
			if open.Sign() == 0 { // with nothing open, a fair share takes forever
				rho = append(rho, 0)
				continue
			}
			share := big.NewRat(int64(max(r.Work, slowdownFloor)), 1)
			if asked.Cmp(open) > 0 {
				share.Mul(share, asked.Quo(asked, open))
			}
			x := new(big.Rat).Quo(big.NewRat(int64(r.JCT()), 1), share)
			if x.Cmp(big.NewRat(1, 1)) > 0 {
				unfair++
			}
			f, _ := x.Float64()
			rho = append(rho, f)
		}
		want := Metrics{}
		if len(rho) > 0 {
			want.P99FTF, want.Unfair = plainQuantile(rho, .99), float64(unfair)/float64(len(rho))
		}
		got := Measure(log)
		if math.Abs(got.P99FTF-want.P99FTF) > 1e-9*max(1, want.P99FTF) || math.Abs(got.Unfair-want.Unfair) > 1e-12 {
			t.Fatalf("p99 %v, unfair %v, want %v and %v", got.P99FTF, got.Unfair, want.P99FTF, want.Unfair)
		}
	})
}

// TestFinishTimeFairnessByHand checks rho on one or two GPUs, where jobs of one GPU run one after another.
func TestFinishTimeFairnessByHand(t *testing.T) {
	const s = time.Second
	inTurn := &script{"in turn", func(tx *cluster.Txn) error {
		for _, id := range slices.Clone(tx.View().Pending()) {
			if p, fits := tx.View().BestFit(id, nil); fits {
				if err := tx.Place(id, p); err != nil {
					return err
				}
			}
		}
		return nil
	}}
	cases := []struct {
		name        string
		gpus        int
		jobs        []trace.Job
		p99, unfair float64
	}{
		{"nobody waits", 2, []trace.Job{job("a", 0, 100*s, 1), job("b", 0, 100*s, 1)}, 1, 0},
		// a and b ask for 2 GPUs until a ends, then b asks for 1: b takes 200 s, its fair share 150 s; a takes 100 s, its fair share
		// 200 s.
		{"who waits has less than a fair share", 1, []trace.Job{job("a", 0, 100*s, 1), job("b", 0, 100*s, 1)},
			.99*200/150 + .01*100/200, .5},
		// b waits for 60 s. From 110 s on c asks for another GPU: the jobs ask for 250 GPU-seconds in the 150 s of b, so the fair share
		// of its 90 s of work is 150 s. c takes 140 s; its fair share is 100·180/140.
		{"exactly the fair share is not unfair", 1, []trace.Job{job("a", 0, 60*s, 1), job("b", 0, 90*s, 1), job("c", 110*s, 100*s, 1)},
			.98*140*140/18000 + .02, 1. / 3},
		{"a second's wait of a job of a second is no matter", 1, []trace.Job{job("a", 0, s, 1), job("b", 0, s, 1)},
			.99*2/15 + .01*.05, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := Measure(episode(t, sim.Config{Cluster: cluster.Uniform(1, c.gpus)}, c.jobs, inTurn))
			if math.Abs(m.P99FTF-c.p99) > 1e-12 || m.Unfair != c.unfair {
				t.Errorf("p99 %v, unfair %v, want %v and %v", m.P99FTF, m.Unfair, c.p99, c.unfair)
			}
		})
	}
}

func plainQuantile(xs []float64, p float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	h := p * float64(len(xs)-1)
	lo := int(math.Floor(h))
	hi := min(lo+1, len(xs)-1)
	return xs[lo]*(1-(h-float64(lo))) + xs[hi]*(h-float64(lo))
}
