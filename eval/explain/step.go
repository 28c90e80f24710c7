package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/phrase"
)

// passOver sets which of the jobs that stay waiting could start now instead of the job of a step.
func (d *Decision) passOver(step *Step, stay []cluster.JobID) {
	s := &d.after
	known := map[cluster.Shape]bool{}
	could := func(id cluster.JobID) bool {
		if s.Phase(id) != cluster.Pending || d.late() {
			return false
		}
		if spec := s.Spec(id); spec.Least() < spec.Workers {
			return startable(&s.View, id)
		}
		shape := s.Shape(id)
		fits, asked := known[shape]
		if !asked {
			fits = startable(&s.View, id)
			known[shape] = fits
		}
		return fits
	}
	i := slices.IndexFunc(stay, could)
	if i < 0 {
		return
	}
	step.PassedOver = &Passed{Earliest: s.Spec(stay[i]).Name}
	waits := map[cluster.JobID]bool{}
	for _, id := range stay {
		waits[id] = true
	}
	i = slices.IndexFunc(d.facts.byEstimate, func(id cluster.JobID) bool { return waits[id] && could(id) })
	if i >= 0 {
		step.PassedOver.Shortest = s.Spec(d.facts.byEstimate[i]).Name
	}
}

// runnerUp returns the best of the other servers that could take the whole gang of a placement, by best fit, or nil if there is
// none.
func runnerUp(s *cluster.View, id cluster.JobID, p cluster.Placement) *Place {
	if len(p) == 0 {
		return nil
	}
	gang, amount := p.Workers(), p[0].Amount
	best := cluster.ServerID(-1)
	for i := range s.Servers() {
		v := cluster.ServerID(i)
		if len(p) == 1 && v == p[0].Server || s.Fits(v, id, amount) < gang {
			continue
		}
		a, b := s.TypeRank(id, v), int32(0)
		if best >= 0 {
			b = s.TypeRank(id, best)
		}
		if best < 0 || a < b || a == b && s.FreeGPUs(v) < s.FreeGPUs(best) {
			best = v
		}
	}
	if best < 0 {
		return nil
	}
	left := s.FreeGPUs(best)
	if amount.GPUMilli == cluster.WholeGPU {
		left -= gang
	} else {
		left -= max(gang-(freeFor(s, best, amount)-left), 0) // shares go first to GPUs that are in use
	}
	return &Place{s.Server(best).Name, left}
}

// note returns the placement that an operation replaces or removes, which its explanation needs.
func note(s *cluster.View, o *cluster.Proposal) cluster.Placement {
	if o.Kind == cluster.OpPlace || o.Kind == cluster.OpLoan || o.Kind == cluster.OpReclaim {
		return nil
	}
	return slices.Clone(s.Placement(o.Job))
}

// explain writes the reason of the i-th operation, which was just done. was is the job's placement before it.
func (d *Decision) explain(i int, was cluster.Placement) {
	s, f, step := &d.after, d.facts, &d.Steps[i]
	switch o := &d.ops[i]; o.Kind {
	case cluster.OpPlace:
		step.Code = started
		text := f.order(&s.View, o.Job) + "; " + leaves(&s.View, o.Placement)
		if r := step.RunnerUp; r != nil {
			text += fmt.Sprintf(" (next best: %s with %d)", r.Server, r.Left)
		}
		if p := step.PassedOver; p != nil {
			text += "; " + p.Earliest
			if p.Shortest != "" && p.Shortest != p.Earliest {
				text += " or " + p.Shortest
			}
			text += " could have started instead"
		}
		switch {
		case f.besides == nil:
		case f.besides[o.Job]:
			text += "; " + f.beside + " starts it too"
		default:
			text += "; " + f.beside + " would let it wait"
		}
		step.Text = text
	case cluster.OpPreempt:
		step.Code, step.TakenBy = preempted, d.takers(i, was)
		to := "jobs that the policy puts first"
		if len(step.TakenBy) > 0 {
			to += " (" + several(step.TakenBy) + ")"
		}
		attained := phrase.Time(s.Attained(o.Job))
		step.Text = fmt.Sprintf("gives its GPUs to %s; %s, %s of GPU time attained", to, f.order(&s.View, o.Job), attained)
	case cluster.OpMigrate:
		step.Code = migrated
		step.Text = fmt.Sprintf("moves off %s; %s; %s", on(&s.View, was), f.order(&s.View, o.Job), leaves(&s.View, o.Placement))
	case cluster.OpResize:
		step.Code = resized
		order, left := f.order(&s.View, o.Job), leaves(&s.View, o.Placement)
		step.Text = fmt.Sprintf("had %s on %s; %s; %s", gpus(was.GPUMilli()), on(&s.View, was), order, left)
	case cluster.OpLoan:
		step.Code = loaned
		step.Text = fmt.Sprintf("the inference pool offers %s, and %d are now on loan", phrase.Count(s.Offer(), "server"), s.Lent())
	case cluster.OpReclaim:
		step.Code = reclaimed
		owed, _ := s.Owed()
		step.Text = fmt.Sprintf("%d are still on loan of %d that the inference pool offers, %d are owed", s.Lent(), s.Offer(), owed)
	}
}

// takers returns the names of the jobs that get GPUs of a preempted job's servers later in the decision.
func (d *Decision) takers(i int, was cluster.Placement) []string {
	var names []string
	for k := range d.ops[i+1:] {
		o := &d.ops[i+1+k]
		if o.Job == d.ops[i].Job || !slices.ContainsFunc(o.Placement, func(p cluster.Piece) bool {
			return slices.ContainsFunc(was, func(q cluster.Piece) bool { return p.Server == q.Server })
		}) {
			continue
		}
		if name := d.after.Spec(o.Job).Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// order describes a job by its ranks in submission and in remaining time, by which a policy may order jobs.
func (f *Facts) order(s *cluster.View, id cluster.JobID) string {
	var parts []string
	if rank, ok := f.submitted[id]; ok {
		waited := phrase.Time(s.Now() - s.Spec(id).Submit)
		parts = append(parts, fmt.Sprintf("%s to come of %d, %s ago", ordinal(rank), len(f.bySubmit), waited))
	}
	left, known := s.Remaining(id)
	rank, waited := f.shortest[id]
	switch {
	case waited:
		shortest := strings.TrimPrefix(ordinal(rank)+" shortest", "first ")
		parts = append(parts, fmt.Sprintf("%s with %s left", shortest, phrase.Time(left)))
	case known:
		parts = append(parts, phrase.Time(left)+" left")
	default:
		parts = append(parts, "no estimate")
	}
	return strings.Join(parts, ", ")
}

// leaves describes how much a placement leaves free on its servers.
func leaves(s *cluster.View, p cluster.Placement) string {
	if len(p) == 0 {
		return "nowhere"
	}
	left := int32(0)
	for i := range p {
		left += s.FreeGPUs(p[i].Server)
	}
	switch name := s.Server(p[0].Server).Name; {
	case len(p) > 1:
		return fmt.Sprintf("takes %d servers and leaves %s free there", len(p), phrase.Count(left, "GPU"))
	case left == 0:
		return "fills " + name
	default:
		return fmt.Sprintf("fits %s with %s left", name, phrase.Count(left, "GPU"))
	}
}

// on returns the names of a placement's servers.
func on(s *cluster.View, p cluster.Placement) string {
	var names []string
	for i := range p {
		names = append(names, s.Server(p[i].Server).Name)
	}
	return several(names)
}
