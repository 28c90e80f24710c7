package serve

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are what a server counts beside its decider, in a registry of its own.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec // path, code
	running  prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "clustergym_http_requests_total", Help: "Requests by path and status.",
		}, []string{"path", "code"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "clustergym_decisions_running", Help: "Requests that are being decided.",
		}),
	}
	m.registry.MustRegister(m.requests, m.running, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}
