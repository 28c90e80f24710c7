package serve

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are a server's metrics besides those of its decider, in a registry of their own.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec // labels path and code
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
