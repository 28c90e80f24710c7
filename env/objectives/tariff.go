package objectives

import "time"

const day = 24 * time.Hour

// tariff is the price of each hour of a day, relative to a term's price.
type tariff struct {
	of    [24]float64
	until [25]float64 // the sum of the prices of all hours before
}

// newTariff returns the tariff with the given prices, each from its hour on until the next one that is given, over midnight.
func newTariff(prices map[int]float64) (t tariff) {
	last := 0.0
	for hour := range 24 { // the price at midnight is that of the day's last change
		if p, ok := prices[hour]; ok {
			last = p
		}
	}
	for hour := range 24 {
		if p, ok := prices[hour]; ok {
			last = p
		}
		t.of[hour] = last
		t.until[hour+1] = t.until[hour] + last
	}
	return t
}

// at returns the price at a time of day or later.
func (t *tariff) at(clock time.Duration) float64 { return t.of[int(wrap(clock)/time.Hour)] }

// sum returns the sum of hours times price from midnight of the first day to the given time.
func (t *tariff) sum(clock time.Duration) float64 {
	days := (clock - wrap(clock)) / day
	rest := wrap(clock)
	hour := int(rest / time.Hour)
	return float64(days)*t.until[24] + t.until[hour] + t.of[hour]*(rest%time.Hour).Hours()
}

// between returns the hours between two times, each at its price.
func (t *tariff) between(from, to time.Duration) float64 { return t.sum(to) - t.sum(from) }

// next returns when the price next changes, at most a day later.
func (t *tariff) next(clock time.Duration) time.Duration {
	hour := clock - wrap(clock)%time.Hour
	for i := range 24 {
		at := hour + time.Duration(i+1)*time.Hour
		if t.at(at) != t.at(clock) {
			return at
		}
	}
	return clock + day
}

// wrap returns the time of day.
func wrap(clock time.Duration) time.Duration {
	if clock %= day; clock < 0 {
		clock += day
	}
	return clock
}
