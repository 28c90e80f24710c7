package decide

import (
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
)

// Costs are metrics of what a cluster costs by an objective: so far, and a minute, by term. They are those of the last state that
// was looked at. A nil *Costs does nothing. It is safe for concurrent use.
type Costs struct {
	mu          sync.Mutex
	live        *objectives.Live
	total, rate *prometheus.Desc
}

// NewCosts returns the metrics NAME_total and NAME_per_minute of an objective, registered with r if it is not nil; of says whose
// costs they are. It returns nil without an objective.
func NewCosts(o *objectives.Objective, name, of string, r prometheus.Registerer) (*Costs, error) {
	if o == nil {
		return nil, nil
	}
	labels := []string{"objective", "term"}
	c := &Costs{
		live:  objectives.NewLive(o),
		total: prometheus.NewDesc(name+"_total", "What "+of+" has cost since the program began, by term.", labels, nil),
		rate:  prometheus.NewDesc(name+"_per_minute", "What "+of+" costs a minute now, by term.", labels, nil),
	}
	if r != nil {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of costs: %w", err)
		}
	}
	return c, nil
}

// Look counts what a cluster has cost until this state: see objectives.Live.
func (c *Costs) Look(s *cluster.View, away func(name string) bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live.Look(s, away)
}

// Forget lets the time until the next look cost nothing, for a cluster that nobody follows until then.
func (c *Costs) Forget() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live.Forget()
}

// Total returns what the cluster has cost so far.
func (c *Costs) Total() (sum float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.live.Terms() {
		sum += x
	}
	return sum
}

// Describe implements prometheus.Collector.
func (c *Costs) Describe(to chan<- *prometheus.Desc) { to <- c.total; to <- c.rate }

// Collect implements prometheus.Collector.
func (c *Costs) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.live.Objective()
	rates := c.live.AppendPerHour(nil)
	for i, sum := range c.live.Terms() {
		term := o.TermName(i)
		to <- prometheus.MustNewConstMetric(c.total, prometheus.CounterValue, sum, o.Name, term)
		to <- prometheus.MustNewConstMetric(c.rate, prometheus.GaugeValue, rates[i]/60, o.Name, term)
	}
}
