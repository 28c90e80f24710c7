package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/clustergym/clustergym/internal/loopback"
)

// Address is where a server listens, and with which certificate.
type Address struct {
	Host string // as host:port
	Cert string // files of the TLS certificate and its key, "" for no TLS
	Key  string
}

const minToken = 16 // bytes

// Validate returns an error for an address that other machines can reach, unless it has TLS and a token. It also checks the form
// of each part.
func (a *Address) Validate(token string) error {
	if _, _, err := net.SplitHostPort(a.Host); err != nil {
		return fmt.Errorf("address %q, want host:port: %w", a.Host, err)
	}
	if (a.Cert == "") != (a.Key == "") {
		return fmt.Errorf("certificate %q and key %q: want both or neither", a.Cert, a.Key)
	}
	if token != "" && len(token) < minToken {
		return fmt.Errorf("token of %d bytes, want at least %d", len(token), minToken)
	}
	if !a.Loopback() && (a.Cert == "" || token == "") {
		return fmt.Errorf("address %q can be reached from elsewhere: want a TLS certificate, its key and a token, or 127.0.0.1", a.Host)
	}
	return nil
}

// Loopback reports whether only this machine can reach the address. The form of the address must be valid.
func (a *Address) Loopback() bool {
	host, _, _ := net.SplitHostPort(a.Host)
	return loopback.Is(host)
}

// Listen opens the address. New connections use a replaced certificate.
func (a *Address) Listen(ctx context.Context, token string) (net.Listener, error) {
	if err := a.Validate(token); err != nil {
		return nil, err
	}
	var config *tls.Config
	if a.Cert != "" {
		files, err := loadCertificate(a.Cert, a.Key)
		if err != nil {
			return nil, err
		}
		config = &tls.Config{
			GetCertificate: files.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		}
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", a.Host)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	if at, ok := ln.Addr().(*net.TCPAddr); config == nil && (!ok || !at.IP.IsLoopback()) { // localhost may mean another address here
		_ = ln.Close()
		return nil, fmt.Errorf("address %q is %v, want a loopback address without TLS", a.Host, ln.Addr())
	}
	if config != nil {
		ln = tls.NewListener(ln, config)
	}
	return ln, nil
}

// The timeouts of a connection, and the limit for headers in bytes.
const (
	headerTime = 5 * time.Second
	readTime   = 30 * time.Second
	writeTime  = time.Minute // to write the answer
	idleTime   = 2 * time.Minute
	maxHeader  = 64 << 10
)

// Shutdown says how a server ends. For the time Delay it still answers all requests, and only /readyz says that it is about
// to end, so that load balancers stop sending requests. Then it refuses new requests, finishes those in progress, for at most
// the time Drain, and closes the listener.
type Shutdown struct{ Delay, Drain time.Duration }

// Serve serves requests on the listener until the context ends. Meanwhile it checks in intervals of poll whether the policy has
// changed and whether what was learned must be saved, and reloads the policy on every signal from hup. Then it shuts down, and
// saves what was learned.
func (s *Server) Serve(ctx context.Context, ln net.Listener, poll time.Duration, end Shutdown, hup <-chan os.Signal) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTime, ReadTimeout: readTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		WriteTimeout: readTime + 3*s.Deadline + s.Reasons + s.Forecasts + writeTime,
		ErrorLog:     slog.NewLogLogger(oneKind{s.Log.Handler()}, slog.LevelWarn),
	}
	defer func() { s.lines.flush(time.Now(), true) }()
	defer s.decider.Keep(true)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(ln) }()
	ticks := time.NewTicker(poll)
	defer ticks.Stop()
	ended, over := ctx.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case err := <-failed:
			return fmt.Errorf("serve: %w", err)
		case <-ticks.C:
			s.decider.Reload(false)
			s.decider.Keep(false)
			s.lines.flush(time.Now(), false)
		case <-hup:
			s.decider.ReopenLog()
			s.decider.Reload(true)
		case <-ended:
			s.ending.Store(true)
			s.draining.Store(end.Delay == 0)
			s.Log.Info("not ready", "delay", end.Delay.String())
			ended, over = nil, time.After(end.Delay)
		case <-over:
			s.draining.Store(true)
			s.Log.Info("draining", "at_most", end.Drain.String())
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), end.Drain)
			defer cancel()
			if err := server.Shutdown(last); err != nil {
				_ = server.Close()
				return fmt.Errorf("serve: requests were still being answered after %v: %w", end.Drain, err)
			}
			if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve: %w", err)
			}
			return nil
		}
	}
}
