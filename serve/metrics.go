package serve

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
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

// MetricsHandler answers GET /metrics with the metrics, for programs that serve nothing else. Requests must carry the token.
// Without a token it answers only requests to localhost.
func MetricsHandler(token string, from prometheus.Gatherer) http.Handler {
	scrape, bears := promhttp.HandlerFor(from, promhttp.HandlerOpts{}), Bears(token)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if !bears(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "want the header Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		if err := namesThisMachine(r); token == "" && err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		scrape.ServeHTTP(w, r)
	})
	return mux
}
