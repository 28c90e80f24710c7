package headroom

import (
	"cmp"
	"slices"
)

// priced bounds the sum of completion times by prices on the machine: the strongest of the bounds, as it knows at once that
// jobs share the machine and that none is faster than its least time.
//
// Let λ(t) ≥ 0 be any price of the whole machine at t. A schedule in which the jobs never hold more than the machine pays at
// most ∫λ. So the sum of completion times is at least the sum of what jobs wait and pay less ∫λ, and that is at least
//
//	Σ_j min over C of [ C - submit_j + volume_j/least_j · (the cheapest λ in [submit_j, C], a time of least_j long) ] - ∫λ
//
// for a job that ends at C has worked until then, nowhere at more than 1/least of its work a second, and pays volume·λ(t) for
// what it does at t. Any λ gives a valid bound (weak duality); subgradient steps look for a good one. λ is constant in bins
// and 0 after the last.
type priced struct {
	items  []item
	width  float64   // of a bin, seconds
	price  []float64 // of a second of the machine, by bin
	usage  []float64 // of the machine, by bin: what the jobs would hold at these prices, in seconds
	chosen []held    // scratch: ascending in price
}

type held struct {
	price, seconds float64
	bin            int
}

const (
	bins       = 160
	iterations = 120
)

// dual returns the best of the bounds that were tried, at least start. Polyak's step aims at a value that is out of reach by
// less and less.
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

// newPriced begins with what a fluid would pay: a second of the machine delays all that wait by as much.
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

// value is the bound at the present prices. It leaves the usage that goes with it.
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

// cheapest minimises over the end of an item what it waits and pays, and says when it then ends. With an end it stops there
// and leaves in chosen when the item works.
func (p *priced) cheapest(it *item, stop float64) (cost, end float64) {
	p.chosen = p.chosen[:0]
	rate := it.volume / it.least
	at, first := it.submit, int(it.submit/p.width)
	short, paid := it.least, 0.0
	for k := first; ; k++ {
		bin, price, until := bins, 0.0, it.submit+it.least+p.width*bins // of the time after the last bin: as long as need be
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
		// To go on costs the wait until then at least.
		if k >= bins || short == 0 && (stop >= 0 && at >= stop || stop < 0 && at-it.submit >= cost) {
			return cost, end
		}
	}
}

// choose keeps the list in order of price.
func (p *priced) choose(h held) {
	at, _ := slices.BinarySearchFunc(p.chosen, h, func(a, b held) int { return cmp.Compare(a.price, b.price) })
	p.chosen = slices.Insert(p.chosen, at, h)
}

// step moves the prices towards a value that is higher by gap; false if there is nowhere to go.
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
