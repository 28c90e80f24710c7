package cli

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/pflag"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/serve"
)

// metricsOptions say where a learner serves its metrics.
type metricsOptions struct {
	host      string // host:port, "" for nowhere
	tokenFile string
	token     string
}

func (o *metricsOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.host, "metrics", "", "host:port at which /metrics tells Prometheus what workers do")
	f.StringVar(&o.tokenFile, "metrics-token-file", "", "file of the token that requests for --metrics must carry")
}

// address returns where to serve, with the certificate of the flags.
func (o *poolOptions) metricsAddress() *serve.Address {
	return &serve.Address{Host: o.metrics.host, Cert: o.listen.Cert, Key: o.listen.Key}
}

// readMetrics reads the token and checks the address.
func (o *poolOptions) readMetrics() (err error) {
	if o.metrics.host == "" {
		return nil
	}
	if o.metrics.tokenFile != "" {
		if o.metrics.token, err = serve.ReadToken(o.metrics.tokenFile); err != nil {
			return err
		}
	}
	if err := o.metricsAddress().Validate(o.metrics.token); err != nil {
		return cmdline.Usage("--metrics: %w", err)
	}
	return nil
}

// serveMetrics serves the metrics of the pool until ctx ends.
func (p *workerPool) serveMetrics(ctx context.Context) error {
	if p.metrics.host == "" {
		return nil
	}
	ln, err := p.metricsAddress().Listen(ctx, p.metrics.token)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(poolCollector{p.pool}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	const patience = 10 * time.Second
	server := &http.Server{
		Handler:           serve.MetricsHandler(p.metrics.token, registry),
		ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
	}
	p.tasks.Go(func() { _ = server.Serve(ln) })
	p.tasks.Go(func() { <-ctx.Done(); _ = server.Close() })
	p.say("metrics: http%s://%s/metrics", map[bool]string{true: "s"}[p.listen.Cert != ""], ln.Addr())
	return nil
}

// poolCollector makes metrics of what a pool and its workers do at the time of a request.
type poolCollector struct{ pool *work.Pool }

func poolMetric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("clustergym_"+name, help, labels, nil)
}

var (
	workersMetric   = poolMetric("workers", "Workers known, by what they do: computes, waits, slow or lost.", "state")
	unitsMetric     = poolMetric("units", "Units given out without an answer: busy with a worker, or waiting for one.", "state")
	rateMetric      = poolMetric("units_per_second", "Units a second that the workers can compute together.")
	leftMetric      = poolMetric("units_left_seconds", "Estimated time until all units given out have an answer.")
	doneMetric      = poolMetric("units_done_total", "Answers accepted.")
	secondsMetric   = poolMetric("unit_seconds_total", "Time that workers took for accepted answers.")
	refusedMetric   = poolMetric("answers_refused_total", "Answers refused, or units that workers could not compute.")
	strangersMetric = poolMetric("workers_refused_total", "Requests of workers that run another program or processor.")
)

// Describe implements prometheus.Collector.
func (c poolCollector) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, out) }

// Collect implements prometheus.Collector.
func (c poolCollector) Collect(out chan<- prometheus.Metric) {
	now, totals := c.pool.Status(), c.pool.Totals()
	put := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	states := map[string]int{work.Computes: 0, work.Waits: 0, work.Slow: 0, work.Lost: 0}
	for i := range now.Workers {
		states[now.Workers[i].State]++
	}
	for state, n := range states {
		put(workersMetric, prometheus.GaugeValue, float64(n), state)
	}
	put(unitsMetric, prometheus.GaugeValue, float64(now.Busy), "busy")
	put(unitsMetric, prometheus.GaugeValue, float64(now.Waiting), "waiting")
	put(rateMetric, prometheus.GaugeValue, now.Rate)
	put(leftMetric, prometheus.GaugeValue, now.Left)
	put(doneMetric, prometheus.CounterValue, float64(totals.Done))
	put(secondsMetric, prometheus.CounterValue, totals.Seconds)
	put(refusedMetric, prometheus.CounterValue, float64(totals.Refused))
	put(strangersMetric, prometheus.CounterValue, float64(totals.Strangers))
}
