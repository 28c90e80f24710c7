package headroom

import "slices"

// valued contains what the choices of a decision point save: in every future, the base's sum of completion times minus that
// after a choice, in seconds.
type valued struct {
	choices, futures int
	pairs            [][2]int
	saves            [][]float64 // by future: first the choices, then the pairs; after all futures, without the jobs to come
}

// mean returns what choice or pair number k saves, on average over the futures in [from, to); k below 0 stands for the base's
// own choice.
func (v *valued) mean(k, from, to int) (sum float64) {
	if k < 0 {
		return 0
	}
	for _, saves := range v.saves[from:to] {
		sum += saves[k]
	}
	return sum / float64(to-from)
}

// pair returns the number of the pair of choices a and b, ok false if they cannot be carried out together.
func (v *valued) pair(a, b int) (k int, ok bool) {
	k = slices.Index(v.pairs, [2]int{min(a, b), max(a, b)})
	return v.choices + k, k >= 0
}

// best returns the number, among those given, that saves most over the futures in [from, to), or none if that is not more than
// what none saves.
func (v *valued) best(none, from, to int, among []int) int {
	top := none
	for _, k := range among {
		if v.mean(k, from, to) > v.mean(top, from, to) {
			top = k
		}
	}
	return top
}

// choose returns the numbers of what the three ways choose by their savings in the futures [from, to). See Coupling.
func (v *valued) choose(from, to int) (joint, sequential, greedy int) {
	singles := make([]int, v.choices)
	for i := range singles {
		singles[i] = i
	}
	all := slices.Clone(singles)
	for i := range v.pairs {
		all = append(all, v.choices+i)
	}
	joint = v.best(-1, from, to, all)
	first := v.best(-1, from, to, singles)
	sequential, greedy = first, first
	if first < 0 {
		return joint, sequential, greedy
	}
	var with, second []int // the pairs with the first choice, and the choices that fit beside it
	for _, i := range singles {
		if k, ok := v.pair(first, i); ok {
			with, second = append(with, k), append(second, i)
		}
	}
	sequential = v.best(first, from, to, with)
	if i := v.best(-1, from, to, second); i >= 0 {
		greedy, _ = v.pair(first, i)
	}
	return joint, sequential, greedy
}

// gains returns what the three ways save in the futures [from, to) if they choose in the futures [chosen, until).
func (v *valued) gains(chosen, until, from, to int) gains {
	joint, sequential, greedy := v.choose(chosen, until)
	return gains{v.mean(joint, from, to), v.mean(sequential, from, to), v.mean(greedy, from, to)}
}

// add adds the point to the sums of its window. The unit is what a second of completion time counts.
func (v *valued) add(w *CoupledWindow, unit float64) {
	n := v.futures
	w.Present.add(v.gains(n, n+1, n, n+1), unit)
	w.Hindsight.add(v.gains(0, 1, 0, 1), unit)
	if half := n / 2; half > 0 {
		w.Fresh.add(v.gains(0, half, half, n), unit)
	}
	saves := v.saves[n]
	for i, p := range v.pairs {
		pair := saves[v.choices+i] * unit
		apart := pair - (saves[p[0]]+saves[p[1]])*unit
		w.Together += pair * pair
		w.Apart += apart * apart
	}
}

func (g *gains) add(x gains, unit float64) {
	g.Joint += x.Joint * unit
	g.Sequential += x.Sequential * unit
	g.Greedy += x.Greedy * unit
}
