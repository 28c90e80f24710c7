package cli

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/train"
)

// keptText says which weights a run keeps, and how they did on validation windows; "" before the first validation.
func keptText(r *train.Folder) string {
	best := r.Best()
	what, unit := train.Compared(r.Recipe.Train.Objective)
	switch {
	case best == nil && r.Finished():
		return "keeps the last weights, as there are no validation windows"
	case best == nil:
		return ""
	case best.JCT == 1 && best.Update == 0:
		return "keeps its prior's decisions, validation 1: no weights did better by more than the standard error"
	case best.Update == 0:
		return fmt.Sprintf("keeps the policy of --from, validation %.3f of the prior's %s", best.JCT, what)
	}
	text := fmt.Sprintf("keeps update %d, validation %.3f of the prior's %s%s", best.Update, best.JCT, what,
		besideIt(&r.Metrics[best.Update-1], unit))
	last := best.JCT
	for i := range r.Metrics {
		if v := r.Metrics[i].Validation; v != nil {
			last = *v
		}
	}
	if last != best.JCT {
		text += fmt.Sprintf("; the last was %.3f", last)
	}
	return text
}

// lessons are means over the updates of a run, or over the later half of them, of which the first have taught little yet.
type lessons struct {
	labels               int // in all updates
	scale, value, unseen float64
	drawn                int // updates that learned from draws
	departs              float64
}

func lessonsOf(metrics []train.Metrics) (l lessons) {
	n := 0.
	for i, m := range metrics {
		if m.Relative != nil {
			l.drawn++
			l.departs = m.Departs
			continue
		}
		l.labels += m.Choices
		l.scale = math.Max(l.scale, m.Scale)
		if i >= len(metrics)/2 {
			l.value, l.unseen, n = l.value+m.Value, l.unseen+m.Unseen, n+1
		}
	}
	if n > 0 {
		l.value, l.unseen = l.value/n, l.unseen/n
	}
	return l
}

// whyNothing says why the weights of a run are no better than its prior, as far as its metrics tell, and what to try. It returns
// "" if they are better, or before the first validation.
func whyNothing(r *train.Folder) string {
	if best := r.Best(); best == nil || best.Update > 0 || best.JCT < 1 {
		return ""
	}
	l := lessonsOf(r.Metrics)
	_, unit := train.Compared(r.Recipe.Train.Objective)
	switch {
	case l.drawn > 0 && l.departs == 0:
		return "the team no longer departs from its prior; try --set train.entropy=0.1, or labels first (train.expert)"
	case l.drawn > 0:
		return fmt.Sprintf("its own decisions, %.0f %% of all, cost more than its prior's; try more updates, a lower train.rate, or "+
			"labels first (train.expert)", 100*l.departs)
	case l.labels == 0:
		return "no decision with more than one option was labelled; try --set train.label=0.3, or a scenario with more load"
	case l.scale == 0:
		return fmt.Sprintf("at none of %d labelled decisions does an option save or cost anything; try a scenario with more load, or "+
			"more options (--set train.candidates=24)", l.labels)
	case l.value <= 0:
		return fmt.Sprintf("the team takes no option that saves: those that matter save or cost %.3f %s in the mean, its margin is "+
			"%g; try a lower train.margin, or more labels (train.label, train.windows, --updates)", l.scale, unit, r.Recipe.Train.Margin)
	case l.unseen <= 0:
		return fmt.Sprintf("options save %+.3f %s where the team learned them, but %+.3f on windows that it had not seen; try more "+
			"labels (train.label, train.windows, --updates)", l.value, unit, l.unseen)
	}
	return fmt.Sprintf("options save %+.3f %s one at a time, but not if the team takes all of them; try --set train.tail=backlog, "+
		"a higher train.margin, or more updates", l.unseen, unit)
}
