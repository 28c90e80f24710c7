package measure

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clustergym/clustergym/internal/loopback"
	"github.com/clustergym/clustergym/serve"
)

// Prometheus configures a server with the query API of Prometheus.
type Prometheus struct {
	URL       string // without /api/v1/query
	Query     string // returns a sample for each pod, with the labels namespace and pod
	CA        string // file of the certificates to trust, "" for those of the system
	TokenFile string // file of a bearer token, read before each query; "" for none
	Every     time.Duration
	Timeout   time.Duration // of a query
}

// Poller asks a server again and again, and keeps its last answer. It is safe for concurrent use.
type Poller struct {
	Prometheus
	client  *http.Client
	at      string
	last    atomic.Pointer[map[Pod]Sample]
	queries *prometheus.CounterVec
	log     *slog.Logger
	failing bool
}

// NewQueries returns the counter of queries, which it registers. It is 0 where there is no poller.
func NewQueries(r prometheus.Registerer) (*prometheus.CounterVec, error) {
	queries := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "clustergym_kube_prometheus_queries_total", Help: "Queries for measured throughputs, by what came of them.",
	}, []string{"result"})
	queries.WithLabelValues("ok")
	queries.WithLabelValues("failed")
	if err := r.Register(queries); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return queries, nil
}

// NewPoller checks the configuration and returns a poller that has not asked yet.
func NewPoller(c Prometheus, queries *prometheus.CounterVec, log *slog.Logger) (*Poller, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("prometheus: URL %q, want http or https, a host, and neither a user nor a query", c.URL)
	}
	if c.Query == "" || c.Every <= 0 || c.Timeout <= 0 {
		return nil, fmt.Errorf("prometheus: query %q every %v with a time-out of %v: want a query, and times above 0",
			c.Query, c.Every, c.Timeout)
	}
	if c.TokenFile != "" && u.Scheme != "https" && !loopback.Is(u.Hostname()) {
		return nil, fmt.Errorf("prometheus: URL %q with a token: want https, because the token would be readable", c.URL)
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("prometheus: %w", err)
		}
		if trust.RootCAs = x509.NewCertPool(); !trust.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("prometheus: %s: no certificate, want PEM", c.CA)
		}
	}
	return &Poller{
		Prometheus: c, queries: queries, at: strings.TrimRight(c.URL, "/") + "/api/v1/query", log: log,
		client: &http.Client{
			Transport:     &http.Transport{TLSClientConfig: trust, Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // none gets the token
		},
	}, nil
}

// Run asks the server periodically until the context ends.
func (p *Poller) Run(ctx context.Context) {
	ticks := time.NewTicker(p.Every)
	defer ticks.Stop()
	for {
		p.poll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// poll asks once. After a failure there are no samples. It logs the first of several failures.
func (p *Poller) poll(ctx context.Context) {
	samples, err := p.ask(ctx)
	p.last.Store(&samples)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.queries.WithLabelValues("failed").Inc()
		if !p.failing {
			p.log.WarnContext(ctx, "no throughputs from prometheus", "url", p.URL, "error", err)
		}
	} else {
		p.queries.WithLabelValues("ok").Inc()
		if p.failing {
			p.log.InfoContext(ctx, "throughputs from prometheus again", "url", p.URL, "pods", len(samples))
		}
	}
	p.failing = err != nil
}

// Samples returns the samples of the last answer. Nobody may change them.
func (p *Poller) Samples() map[Pod]Sample {
	if last := p.last.Load(); last != nil {
		return *last
	}
	return nil
}

// ask asks the server once.
func (p *Poller) ask(ctx context.Context) (map[Pod]Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	seconds := strconv.FormatFloat(p.Timeout.Seconds(), 'f', -1, 64) // not a duration: those of Prometheus have no fractions
	form := url.Values{"query": {p.Query}, "timeout": {seconds}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.at, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("ask prometheus: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p.TokenFile != "" {
		token, err := serve.ReadToken(p.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("ask prometheus: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := p.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask prometheus: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer+1))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, fmt.Errorf("ask prometheus: %w", err)
	}
	samples, err := parseAnswer(text)
	switch {
	case answer.StatusCode != http.StatusOK && (err == nil || !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))):
		return nil, fmt.Errorf("ask prometheus: the server answers %s", answer.Status)
	case err != nil:
		return nil, fmt.Errorf("ask prometheus: answer %s: %w", answer.Status, err)
	}
	return samples, nil
}
