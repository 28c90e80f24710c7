package headroom

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/placement"
)

// other is something else to do at a decision point.
type other struct {
	job  cluster.JobID
	at   cluster.Placement // start it there first; nil: do not tell of it
	hold time.Duration     // until then
}

// placers are the ways to start a job that alternatives come from.
func placers() []placement.Placer {
	eager := placement.DefaultMenu()
	eager.Patience, eager.Wait, eager.Price = 1e6, false, 0
	cheap := placement.DefaultMenu()
	cheap.Price, cheap.Wait = 3, false
	pack := placement.DefaultPack()
	return []placement.Placer{
		&placement.BestFit{}, placement.NewTune(placement.DefaultTune()), placement.NewMenu(eager), placement.NewMenu(cheap),
		placement.NewPack(pack),
	}
}

// others draws alternatives: a job that starts does not, until some running job has ended; a job starts elsewhere, with other
// amounts or beside others; a job starts that waits, by whichever way there is.
func (d *decider) others(tx *cluster.Txn) []other {
	var starts []cluster.JobID
	placed := map[cluster.JobID]cluster.Placement{}
	for i := range tx.Ops() {
		if o := &tx.Ops()[i]; o.Kind == cluster.OpPlace {
			starts = append(starts, o.Job)
			placed[o.Job] = slices.Clone(o.Placement())
		}
	}
	waits, ends := slices.Clone(tx.State().Pending()), d.ends(tx.State())
	var all []other
	for range 4 * tries {
		if len(all) == tries || len(starts)+len(waits) == 0 {
			break
		}
		k := d.draw.IntN(2 * max(len(starts), 1))
		var next other
		switch {
		case len(starts) > 0 && k < len(starts) && len(ends) > 0:
			e := min(int(d.draw.ExpFloat64()*3), len(ends)-1)
			next = other{job: starts[k], hold: ends[e] + time.Millisecond}
		case len(starts) > 0 && (len(waits) == 0 || d.draw.IntN(2) == 0):
			next = d.elsewhere(starts[k%len(starts)])
		case len(waits) > 0:
			next = d.elsewhere(waits[d.draw.IntN(len(waits))])
		}
		none, same := next.hold == 0 && next.at == nil, next.at != nil && slices.Equal(next.at, placed[next.job])
		ran := d.before.State().Phase(next.job) != cluster.Pending
		if !none && !same && !ran && !slices.ContainsFunc(all, next.equal) {
			all = append(all, next)
		}
	}
	return all
}

func (o other) equal(p other) bool {
	return o.job == p.job && o.hold == p.hold && slices.Equal(o.at, p.at)
}

// elsewhere finds some place where the job could start before all others.
func (d *decider) elsewhere(id cluster.JobID) other {
	s := d.before.State()
	if s.Phase(id) != cluster.Pending {
		return other{}
	}
	p := d.placers[d.draw.IntN(len(d.placers))]
	p.Reset(0)
	d.before.Fork(&d.fork)
	tx := d.fork.State().Txn()
	tx.Tell(d.fork.State().Introduce())
	if started, err := p.Place(tx, id); err != nil || !started {
		return other{}
	}
	return other{job: id, at: slices.Clone(d.fork.State().Placement(id))}
}

// ends returns until when it may be worth to wait: when running jobs will end, at their present speeds and by what they really
// have to do, and when the next jobs will be submitted.
func (d *decider) ends(s *cluster.State) []time.Duration {
	var all []time.Duration
	for _, id := range s.Running() {
		left := d.work(id) - s.Progress(id)
		rate := s.PlannedRate(id)
		if rate > 0 && left > 0 {
			all = append(all, max(s.Since(id), s.Now())+time.Duration(float64(left)/rate))
		}
	}
	at, _ := slices.BinarySearch(d.submits, s.Now()+1)
	all = append(all, d.submits[at:min(at+4, len(d.submits))]...)
	slices.Sort(all)
	return slices.Compact(all)
}

// work is the job's true work.
func (d *decider) work(id cluster.JobID) time.Duration { return d.start.Jobs[id].Work }
