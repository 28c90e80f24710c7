package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/control"
	"github.com/clustergym/clustergym/serve"
)

// metricsAddress is the address at which metrics are served.
type metricsAddress struct {
	serve.Address
	tokenFile string
}

// listen serves the probes and the metrics until the context ends.
func (o *options) listen(
	ctx context.Context, rest *sync.WaitGroup, loop *control.Loop, registry *prometheus.Registry, log *slog.Logger,
) error {
	token := ""
	if o.metrics.tokenFile != "" {
		var err error
		if token, err = serve.ReadToken(o.metrics.tokenFile); err != nil {
			return err
		}
	}
	probes, err := new(net.ListenConfig).Listen(ctx, "tcp", o.probes)
	if err != nil {
		return fmt.Errorf("serve probes: %w", err)
	}
	metrics, err := o.metrics.Listen(ctx, token)
	if err != nil {
		_ = probes.Close()
		return fmt.Errorf("serve metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", ok)
	mux.HandleFunc("GET /healthz", ok)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if !loop.Ready() {
			http.Error(w, "the cluster has not been read yet", http.StatusServiceUnavailable)
			return
		}
		ok(w, r)
	})
	serveOn(ctx, rest, probes, mux, log)
	serveOn(ctx, rest, metrics, serve.MetricsHandler(token, registry), log)
	log.Info("listening", "probes", probes.Addr().String(), "metrics", metrics.Addr().String(), "token", token != "")
	return nil
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }

func serveOn(ctx context.Context, rest *sync.WaitGroup, ln net.Listener, handler http.Handler, log *slog.Logger) {
	const patience = 10 * time.Second
	server := &http.Server{Handler: handler, ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience}
	rest.Go(func() {
		if err := server.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("serve", "address", ln.Addr().String(), "error", err)
		}
	})
	rest.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
}
