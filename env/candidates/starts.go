package candidates

import (
	"cmp"
	"math"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// begin adds the ways in which a waiting job could start, and reports whether it fits where the placer would start it.
func (b *board) begin(o *finder, id cluster.JobID) (bool, error) {
	w := b.walk
	tx, s := w.tx, w.tx.View()
	spec := s.Spec(id)
	st, fits := o.fit(id)
	if fits {
		b.start(Begin, id, st.at)
		if at, ok := w.aligned(tx, &st); ok {
			b.start(Aligned, id, at)
		}
	}
	if at, ok := w.alone(s, id, spec.Workers, spec.Request); ok {
		b.start(Alone, id, at)
	}
	if int64(spec.Workers) <= int64(o.idle()) {
		// As requested: a placer with a menu may never choose that.
		b.among(Begin, id, spec.Request, s.TypesFor(id), cluster.AnyRack)
		b.types(id)
		b.emptiest(id)
		if !fits || s.Crosses(st.at) {
			b.rack(id)
		}
	}
	b.sized(id)
	if w.Menu {
		if err := b.amounts(id); err != nil {
			return false, err
		}
	}
	if w.times() > 1 {
		b.more(id)
	}
	return fits, nil
}

// types adds, for each GPU type, a candidate that starts the job on GPUs of that type, as BestFit places it.
func (b *board) types(id cluster.JobID) {
	s := b.walk.tx.View()
	for i := range s.Types() {
		b.among(Begin, id, s.Spec(id).Request, 1<<i, cluster.AnyRack)
	}
}

// among adds a candidate that starts a job with BestFitAmong on the given GPU types and rack, and reports whether the job fits.
func (b *board) among(kind Kind, id cluster.JobID, a cluster.Amount, types uint16, rack int32) (fits bool) {
	s, m := b.walk.tx.View(), &b.walk.memory
	from := len(m.pieces)
	if m.pieces, fits = s.BestFitAmong(id, s.Spec(id).Workers, a, types, rack, m.pieces); fits {
		b.start(kind, id, m.placed(from))
	} else {
		m.pieces = m.pieces[:from]
	}
	return fits
}

// emptiest adds a candidate that starts a job on the server with the most free GPUs, if one server takes the whole job.
func (b *board) emptiest(id cluster.JobID) {
	s, m := b.walk.tx.View(), &b.walk.memory
	spec := s.Spec(id)
	found := cluster.ServerID(-1)
	for i := range s.Servers() {
		v := cluster.ServerID(i)
		if free := s.FreeGPUs(v); found >= 0 && free <= s.FreeGPUs(found) ||
			free < spec.Workers && spec.Request.GPUMilli == cluster.WholeGPU || s.Fits(v, id, spec.Request) < spec.Workers {
			continue
		}
		found = v
	}
	if found >= 0 {
		m.pieces = append(m.pieces, cluster.Piece{Server: found, Workers: spec.Workers, Amount: spec.Request})
		b.start(Begin, id, m.placed(len(m.pieces)-1))
	}
}

// rack is the number of a rack and how many of its GPUs are not wholly in use.
type rack struct{ number, room int32 }

// rack adds a candidate that starts a gang within one rack, the fullest that takes it. The board calls it if the gang would
// otherwise cross racks or does not fit.
func (b *board) rack(id cluster.JobID) {
	s := b.walk.tx.View()
	spec := s.Spec(id)
	for _, r := range b.fullest(s) {
		if r.room >= spec.Workers && b.among(Begin, id, spec.Request, s.TypesFor(id), r.number) {
			return
		}
	}
}

// fullest returns the racks, the least room first; none if all servers are in one rack.
func (b *board) fullest(s *cluster.View) []rack {
	if len(b.racks) > 0 {
		return b.racks[1:]
	}
	b.racks = append(b.racks, rack{}) // marks the racks as counted, even if there are none
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		for int(s.Server(id).Rack)+1 >= len(b.racks) {
			b.racks = append(b.racks, rack{number: int32(len(b.racks)) - 1})
		}
		if s.Open(id) {
			b.racks[1+s.Server(id).Rack].room += vacant(s, id)
		}
	}
	all := b.racks[1:]
	slices.SortFunc(all, func(a, b rack) int { return cmp.Or(cmp.Compare(a.room, b.room), cmp.Compare(a.number, b.number)) })
	return all
}

// sized adds candidates that start an elastic job with other numbers of workers: the knee of its speed, the fewest, as many as
// fit on idle GPUs, and twice its requested number.
func (b *board) sized(id cluster.JobID) {
	s, m := b.walk.tx.View(), &b.walk.memory
	spec := s.Spec(id)
	if spec.Least() == spec.Most() {
		return
	}
	idle := b.most(id)
	if idle == 0 {
		return
	}
	sizes := [...]int32{b.knee(id, idle), spec.Least(), idle, 2 * spec.Workers}
	for i, n := range sizes {
		if n == spec.Workers || n > idle || slices.Contains(sizes[:i], n) {
			continue
		}
		if at, ok := m.alone(s, id, n, spec.Request); ok {
			b.start(Sized, id, at)
		}
	}
}

// most returns the largest number of workers with which an elastic job could start on idle GPUs, 0 if it could not start.
func (b *board) most(id cluster.JobID) int32 {
	s, m := b.walk.tx.View(), &b.walk.memory
	spec := s.Spec(id)
	return b.last(id, func(n int32) bool {
		from := len(m.pieces)
		_, fits := m.alone(s, id, n, spec.Request)
		m.pieces = m.pieces[:from]
		return fits
	})
}

// last returns the largest number of workers for which the function does returns true, 0 if it returns false for the least. If it
// returns true for a number, it must do so for all smaller ones.
func (b *board) last(id cluster.JobID, does func(n int32) bool) int32 {
	spec := b.walk.tx.View().Spec(id)
	step := spec.Together()
	low, high := (spec.Least()-1)/step, int32(min(int64(spec.Most()), b.walk.tx.View().FreeTotal()))/step
	for least := low; low < high; {
		if mid := (low + high + 1) / 2; does(mid * step) {
			low = mid
		} else if high = mid - 1; high == least {
			return 0
		}
	}
	if low*step < spec.Least() {
		return 0
	}
	return low * step
}

// knee returns the knee of an elastic job's speed curve: the smallest number of workers that reaches almost (by the factor
// DefaultTune().Knee) the predicted speed of the largest number, the parameter most. After the first jobs of a list it returns
// most without evaluating speeds.
func (b *board) knee(id cluster.JobID, most int32) int32 {
	if b.measured++; b.measured > knees*b.walk.times() {
		return most
	}
	top := b.speed(id, most) * placement.DefaultTune().Knee
	// Find the largest number that is too slow; the knee is the next one.
	step := b.walk.tx.View().Spec(id).Together()
	slow := b.last(id, func(n int32) bool { return n < most && b.speed(id, n) < top })
	if slow == 0 {
		return b.walk.tx.View().Spec(id).Least()
	}
	return slow + step
}

// speed returns the predicted speed of a job with n workers on GPUs of their own, 0 if they do not fit.
func (b *board) speed(id cluster.JobID, n int32) float64 {
	tx, m := b.walk.tx, &b.walk.memory
	s := tx.View()
	from, mark := len(m.pieces), tx.Mark()
	defer tx.Rollback(mark)
	at, ok := m.alone(s, id, n, s.Spec(id).Request)
	m.pieces = m.pieces[:from]
	if !ok || !tx.Try(&cluster.Proposal{Kind: cluster.OpPlace, Job: id, Placement: at}) {
		return 0
	}
	return placement.Profile(s).Speed(s, id)
}

// amounts adds candidates that start a job on GPUs of another job, with other CPU and memory, and with other shares of GPUs.
func (b *board) amounts(id cluster.JobID) error {
	w := b.walk
	s, spec := w.tx.View(), w.tx.View().Spec(id)
	for _, p := range w.beside(w.tx, id, spec.Request) {
		b.start(Packed, id, p.at)
	}
	lean, floor, knee, err := b.tune.Levels(s, id)
	if err != nil {
		return err
	}
	half, twice := spec.Request, spec.Request
	half.CPUMilli /= 2
	twice.CPUMilli, twice.MemMiB = times(twice.CPUMilli, 2), times(twice.MemMiB, 2)
	for _, a := range [...]cluster.Amount{knee, lean, floor, half, twice} {
		if a == spec.Request {
			continue
		}
		if at, ok := w.memory.alone(s, id, spec.Workers, a); ok {
			b.start(Amounts, id, at)
		}
	}
	for _, part := range [...]int32{cluster.WholeGPU, cluster.WholeGPU / 2, cluster.WholeGPU / 4} {
		a := spec.Request
		if a.GPUMilli = part; a == spec.Request {
			continue
		}
		b.among(Amounts, id, a, s.TypesFor(id), cluster.AnyRack)
	}
	return nil
}

// times returns n times factor, limited to the range of int32.
func times(n int32, factor float64) int32 { return int32(min(float64(n)*factor, math.MaxInt32-1)) }
