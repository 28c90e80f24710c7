package headroom

import (
	"cmp"
	"slices"
)

// priced computes the strongest of the lower bounds on the sum of completion times. It puts prices on the machine's time, and so
// takes into account both that jobs share the machine and that no job is faster than its least time.
//
// Let λ(t) ≥ 0 be any price of the whole machine at time t. In a schedule in which the jobs never hold more than the machine, all
// jobs together pay at most ∫λ. So the sum of completion times is at least the sum of what the jobs wait and pay, less ∫λ. That
// is at least
//
//	Σ_j min over C of [ C - submit_j + volume_j/least_j · (the cheapest λ in [submit_j, C], a time of least_j long) ] - ∫λ
//
// because a job that ends at C has done its work by then, at no time more than 1/least of it per second, and pays volume·λ(t) for
// the work done at t. Any λ gives a valid bound (weak duality); subgradient steps search for a good one. λ is constant in each
// bin and 0 after the last.
type priced struct {
	items  []item
	width  float64   // length of a bin, in seconds
	price  []float64 // by bin: price of a second of the machine
	usage  []float64 // by bin: seconds of the machine that the jobs would hold at these prices
	chosen []held    // scratch, in ascending order of price
}

type held struct {
	price, seconds float64
	bin            int
}

const (
	bins       = 160
	iterations = 120
)

// dual returns the highest bound that it finds, at least start. The target of Polyak's step exceeds the best value by a gap that
// shrinks when there is no progress.
func dual(items []item, start float64) float64 {
	p := newPriced(items)
	if p.width == 0 {
		return start
	}
	best, prices := start, slices.Clone(p.price)
	reach, idle := 0.3, 0
	for range iterations {
		value := p.value()
		idle++
		if value > best {
			if value > best*(1+1e-4) {
				idle = 0
			}
			best = value
			copy(prices, p.price)
		}
		if idle > 4 {
			idle, reach = 0, reach/2
			copy(p.price, prices)
			value = p.value()
		}
		if !p.step(best*(1+reach) - value) {
			break
		}
	}
	return best
}

// newPriced starts with the prices of a fluid schedule, in which a second of the machine delays all waiting jobs equally.
func newPriced(items []item) *priced {
	p := &priced{items: items, price: make([]float64, bins), usage: make([]float64, bins+1)}
	ends, last := make([]float64, len(items)), 0.0
	single(items, true, func(i int, _, to float64, _ bool) { ends[i] = to })
	for i := range items {
		last = max(last, ends[i], items[i].submit+items[i].least)
	}
	p.width = last / bins
	for k := range p.price {
		middle := (float64(k) + 0.5) * p.width
		for i := range items {
			if items[i].submit+items[i].least < middle && middle < ends[i] {
				p.price[k]++
			}
		}
	}
	return p
}

// value returns the bound at the present prices and sets usage to match.
func (p *priced) value() float64 {
	clear(p.usage)
	sum := 0.0
	for _, x := range p.price {
		sum -= x * p.width
	}
	for i := range p.items {
		if it := &p.items[i]; it.least > 0 {
			cost, end := p.cheapest(it, -1)
			sum += cost
			p.cheapest(it, end)
			for _, h := range p.chosen {
				p.usage[h.bin] += h.seconds * it.volume / it.least
			}
		}
	}
	return sum
}

// cheapest minimises the sum of an item's waiting time and payment over its end time, and returns the minimum and that end. If
// stop is not negative, the item ends at stop, and chosen is set to the times at which it works.
func (p *priced) cheapest(it *item, stop float64) (cost, end float64) {
	p.chosen = p.chosen[:0]
	rate := it.volume / it.least
	at, first := it.submit, int(it.submit/p.width)
	short, paid := it.least, 0.0
	for k := first; ; k++ {
		// Time after the last bin has price 0 and is as long as needed.
		bin, price, until := bins, 0.0, it.submit+it.least+p.width*bins
		if k < bins {
			bin, price, until = k, p.price[k], float64(k+1)*p.width
		}
		if short > 0 && until > at {
			d := min(short, until-at)
			p.choose(held{price, d, bin})
			paid += d * price
			if short -= d; short <= 1e-12*it.least {
				short = 0
				cost, end = it.least+rate*paid, at+d
			}
			at += d
		}
		for short == 0 && at < until && len(p.chosen) > 0 {
			top := &p.chosen[len(p.chosen)-1]
			if stop >= 0 && at >= stop || top.price <= price {
				break
			}
			d := min(top.seconds, until-at)
			if stop >= 0 {
				d = min(d, stop-at)
			}
			paid -= d * (top.price - price)
			if top.seconds -= d; top.seconds <= 0 {
				p.chosen = p.chosen[:len(p.chosen)-1]
			}
			p.choose(held{price, d, bin})
			at += d
			if now := at - it.submit + rate*paid; now < cost {
				cost, end = now, at
			}
		}
		at = max(at, until)
		// Any later end costs at least the waiting time until then.
		if k >= bins || short == 0 && (stop >= 0 && at >= stop || stop < 0 && at-it.submit >= cost) {
			return cost, end
		}
	}
}

// choose inserts h into chosen, which is sorted by price.
func (p *priced) choose(h held) {
	at, _ := slices.BinarySearchFunc(p.chosen, h, func(a, b held) int { return cmp.Compare(a.price, b.price) })
	p.chosen = slices.Insert(p.chosen, at, h)
}

// step moves the prices towards a value that is higher by gap. It returns false if no step is possible.
func (p *priced) step(gap float64) bool {
	norm := 0.0
	for k := range p.price {
		g := p.usage[k] - p.width
		if p.price[k] == 0 && g < 0 {
			continue
		}
		norm += g * g
	}
	if norm == 0 || gap <= 0 {
		return false
	}
	for k := range p.price {
		p.price[k] = max(0, p.price[k]+gap/norm*(p.usage[k]-p.width))
	}
	return true
}
