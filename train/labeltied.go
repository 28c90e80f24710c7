package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/checkpoints"
)

// tied contains what the samples of a window tell of ties between candidates, for shapes with Joint: the columns of all samples,
// one after another.
type tied struct {
	rack, kind, tenant []int64 // by server, by server, by job
	gone               []int64 // by candidate
	count, taken       []int64 // by sample, and one list after another
}

func (t *tied) add(s *learn.Sample) {
	wide := func(dst []int64, list []int32) []int64 {
		for _, v := range list {
			dst = append(dst, int64(v))
		}
		return dst
	}
	t.rack, t.kind, t.tenant = wide(t.rack, s.Rack), wide(t.kind, s.Type), wide(t.tenant, s.Tenant)
	t.gone = appendGone(t.gone, s)
	t.count, t.taken = append(t.count, int64(len(s.Taken))), wide(t.taken, s.Taken)
}

// tensors returns the columns for storage, none without samples.
func (t *tied) tensors() (list []checkpoints.Tensor) {
	if len(t.count) == 0 {
		return nil
	}
	for _, c := range []struct {
		name string
		data []int64
	}{{"rack", t.rack}, {"type", t.kind}, {"tenant", t.tenant}, {"gone", t.gone}, {"taken_counts", t.count}, {"taken", t.taken}} {
		list = append(list, checkpoints.Tensor{Name: c.name, Shape: []int{len(c.data)}, Data: c.data})
	}
	return list
}

// take reads the columns of the given numbers of samples and of servers, jobs, candidates and shares.
func (t *tied) take(from *taker, samples int, sum [4]int) {
	t.rack, t.kind = take[int64](from, "rack", sum[0]), take[int64](from, "type", sum[0])
	t.tenant = take[int64](from, "tenant", sum[1])
	t.gone, t.count = take[int64](from, "gone", sum[2]), take[int64](from, "taken_counts", samples)
	all := 0
	for i, n := range t.count {
		if n < 0 || n > math.MaxInt32 {
			t.count[i] = 0 // the list is then too long
		}
		all += int(t.count[i])
	}
	t.taken = take[int64](from, "taken", all)
}

// cut gives the next sample its part.
func (t *tied) cut(s *learn.Sample) error {
	narrow := func(list []int64) []int32 {
		out := make([]int32, len(list))
		for i, v := range list {
			out[i] = int32(v)
		}
		return out
	}
	s.Rack, s.Type = narrow(cut(&t.rack, s.Servers)), narrow(cut(&t.kind, s.Servers))
	s.Tenant = narrow(cut(&t.tenant, s.Jobs))
	s.Gone = goneOf(cut(&t.gone, s.Candidates))
	for _, k := range cut(&t.taken, int(cut(&t.count, 1)[0])) {
		if k < 1 || k >= int64(s.Candidates) {
			return fmt.Errorf("candidate %d of %d was taken", k, s.Candidates)
		}
		s.Taken = append(s.Taken, int32(k))
	}
	if s.Gone != nil && s.Gone[0] {
		return errors.New("the prior's own candidate is gone")
	}
	return nil
}
