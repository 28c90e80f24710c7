package gavel

import (
	"cmp"
	"math"
	"slices"
)

// jobClass is a number of equal jobs, which get equal shares of time.
type jobClass struct {
	Jobs float64
	GPUs float64 // GPUs that each job holds while it runs
	// Speed is the speed of each job, by option; 0 where the job cannot run. An option is a GPU type or a mixture of types: see
	// classMarket.
	Speed []float64
	// Norm is the speed that counts as 1: that of a job with an equal share of every GPU.
	Norm float64
}

// classMarket describes the GPUs of several types that are divided among jobs, and how options use them.
type classMarket struct {
	GPUs []float64 // of each type
	// Uses is how many GPUs of each type an option takes for one GPU of a job: [option][type].
	Uses [][]float64
}

// typesOf returns the market in which each type is one option.
func typesOf(gpus ...float64) classMarket {
	m := classMarket{GPUs: gpus}
	for i := range gpus {
		use := make([]float64, len(gpus))
		use[i] = 1
		m.Uses = append(m.Uses, use)
	}
	return m
}

// Tolerances for quantities of magnitude 1.
const (
	priceTol = 1e-9
	levelTol = 1e-7
)

// allocate returns for every class the share of time that each of its jobs gets with each option, as [class][option]. The shares
// are max-min fair in GPUs · speed / Norm, weighted as in Gavel (§4.1), within the time of every job and the GPUs of every type.
//
// The first linear program gives the least served classes as much as possible. The next one does the same for the classes that
// could get more without harm to those, and so on (water filling, §4.3), for at most the parameter levels programs. One level is
// the linear program of §4.1; it assigns nothing of what is left over.
//
// Every program has one row more than there are types. Prices of the types determine what each class wants, and the simplex
// method mixes these answers (column generation after Dantzig and Wolfe, 1960). The effort therefore grows with the number of
// classes and not with its square. The result is exact up to rounding.
func allocate(m classMarket, classes []jobClass, levels int) [][]float64 {
	f := fair{m: m}
	for i := range classes {
		f.add(&classes[i])
	}
	best := column{uses: make([]float64, len(m.GPUs)), share: make([]float64, len(classes)*len(m.Uses))}
	for open := len(classes) - f.settled; open > 0 && levels > 0; levels-- {
		best = f.raise(best)
		open = f.freeze(best.level)
	}
	shares := make([][]float64, len(classes))
	for c := range shares {
		shares[c] = best.share[c*len(m.Uses) : (c+1)*len(m.Uses)]
	}
	return shares
}

// fair is the state of water filling.
type fair struct {
	m       classMarket
	wants   []want
	settled int       // number of classes that get no more
	price   []float64 // of a GPU of each type, set by raise
	cost    []float64 // scratch: price of an option for one GPU
	kinks   []kink    // scratch
}

// want is a class with the data that determine its demand at given prices. The cheapest way to every level is along the lower
// convex hull of its options.
type want struct {
	gpus   float64   // of all its jobs together
	value  []float64 // level of a job that uses an option all the time, by option
	order  []int     // options that can run, by value
	hull   []int     // options on the hull, a part of order, at the present prices
	frozen bool
	level  float64 // level at which a frozen class stays
}

// kink is a level at which the price of a further unit increases.
type kink struct{ level, slope float64 }

// column is an allocation: its level, what it uses of every type and what it gives to every class.
type column struct {
	level float64
	uses  []float64
	share []float64 // [class][option]
}

func (f *fair) add(c *jobClass) {
	w := want{gpus: c.Jobs * c.GPUs}
	for o, speed := range c.Speed {
		v := 0.0
		if speed > 0 && c.Norm > 0 {
			v = c.GPUs * speed / c.Norm
			w.order = append(w.order, o)
		}
		w.value = append(w.value, v)
	}
	slices.SortStableFunc(w.order, func(a, b int) int { return cmp.Compare(w.value[a], w.value[b]) })
	if w.frozen = len(w.order) == 0 || w.gpus <= 0; w.frozen {
		w.order = nil
		f.settled++
	}
	f.wants = append(f.wants, w)
}

// bend computes the hull of every class at the present prices.
func (f *fair) bend() {
	f.cost = f.cost[:0]
	for _, use := range f.m.Uses {
		c := 0.0
		for t, n := range use {
			c += n * f.price[t]
		}
		f.cost = append(f.cost, c)
	}
	for i := range f.wants {
		w := &f.wants[i]
		w.hull = w.hull[:0]
		for _, o := range w.order {
			for len(w.hull) > 0 && f.above(w, o) {
				w.hull = w.hull[:len(w.hull)-1]
			}
			if n := len(w.hull); n == 0 || w.value[o] > w.value[w.hull[n-1]] {
				w.hull = append(w.hull, o)
			}
		}
	}
}

// above reports whether the last option of the hull is on or above the line from the one before it to o.
func (f *fair) above(w *want, o int) bool {
	last := w.hull[len(w.hull)-1]
	if w.value[o] == w.value[last] {
		return f.cost[o] < f.cost[last]
	}
	v, c := 0.0, 0.0
	if n := len(w.hull); n > 1 {
		v, c = w.value[w.hull[n-2]], f.cost[w.hull[n-2]]
	}
	return (f.cost[last]-c)*(w.value[o]-v) >= (f.cost[o]-c)*(w.value[last]-v)
}

// slopes calls yield for each range of levels in which a further unit costs the class the same, with that cost.
func (f *fair) slopes(w *want, yield func(from, to, slope float64)) {
	v, c := 0.0, 0.0
	for _, o := range w.hull {
		yield(v, w.value[o], w.gpus*(f.cost[o]-c)/(w.value[o]-v))
		v, c = w.value[o], f.cost[o]
	}
}

// answer returns the demand of the open classes at the present prices. Its level is the one beyond which a further unit for all
// costs more than its value, which is 1, or the highest that all classes can reach.
func (f *fair) answer() column {
	f.bend()
	f.kinks = f.kinks[:0]
	most := math.Inf(1)
	for i := range f.wants {
		if w := &f.wants[i]; !w.frozen {
			last := 0.0
			f.slopes(w, func(from, to, slope float64) {
				f.kinks = append(f.kinks, kink{from, slope - last})
				last = slope
			})
			most = min(most, w.value[w.order[len(w.order)-1]])
		}
	}
	slices.SortFunc(f.kinks, func(a, b kink) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.slope, b.slope))
	})
	col := column{level: most}
	slope := 0.0
	for _, k := range f.kinks {
		if slope += k.slope; slope > 1 && k.level < most {
			col.level = k.level
			break
		}
	}
	f.take(&col)
	return col
}

// take sets the shares and uses of a column from its level.
func (f *fair) take(col *column) {
	options := len(f.m.Uses)
	col.uses = make([]float64, len(f.m.GPUs))
	col.share = make([]float64, len(f.wants)*options)
	for i := range f.wants {
		w := &f.wants[i]
		level := col.level
		if w.frozen {
			level = w.level
		}
		below, v := -1, 0.0
		share := col.share[i*options : (i+1)*options]
		for h, o := range w.hull {
			if level > w.value[o] && h < len(w.hull)-1 {
				below, v = o, w.value[o]
				continue
			}
			part := min((level-v)/(w.value[o]-v), 1)
			share[o] = part
			if below >= 0 {
				share[below] = 1 - part
			}
			break
		}
		for o, part := range share {
			for t, n := range f.m.Uses[o] {
				col.uses[t] += w.gpus * part * n
			}
		}
	}
}

// freeze settles the classes that cannot exceed the level, given prices that prove it the highest, and returns how many are
// left. A class with a positive weight in such a proof can get no more in any allocation that reaches the level; at least one
// class has such a weight.
func (f *fair) freeze(level float64) (open int) {
	proof, full := 0.0, false
	jump := make([]float64, len(f.wants))
	for i := range f.wants {
		w := &f.wants[i]
		if w.frozen {
			continue
		}
		tol := levelTol * max(1, level)
		left, right := 0.0, math.Inf(1)
		f.slopes(w, func(from, to, slope float64) {
			if from < level-tol {
				left = slope
			}
			if from <= level+tol && level+tol < to {
				right = slope
			}
		})
		proof += left
		jump[i] = right - left
		if math.IsInf(right, 1) || left > levelTol {
			w.frozen, w.level = true, min(level, w.value[w.order[len(w.order)-1]])
			f.settled++
		}
		full = full || math.IsInf(right, 1)
	}
	for i := range f.wants {
		if w := &f.wants[i]; !w.frozen && !full && proof < 1-levelTol && jump[i] > levelTol {
			w.frozen, w.level = true, level
			f.settled++
			proof += jump[i]
		}
	}
	return len(f.wants) - f.settled
}
