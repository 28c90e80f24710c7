package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

func TestATokenIsAsked(t *testing.T) {
	const token = "0123456789abcdef"
	s := newSite(t, decidetest.Baseline("fifo"), func(c *serve.Config) { c.Token = token })
	for _, path := range []string{"/v1/policy", "/metrics"} {
		for _, h := range []string{"", token, "Bearer ", "Bearer x" + token, "Bearer " + token[:15], "Basic " + token} {
			if status, text := s.ask(t, http.MethodGet, path, "", "Authorization", h); status != http.StatusUnauthorized {
				t.Errorf("%s with %q: %d %s", path, h, status, text)
			}
		}
		if status, text := s.ask(t, http.MethodGet, path, "", "Authorization", "Bearer "+token); status != http.StatusOK {
			t.Errorf("%s with the token: %d %s", path, status, text)
		}
	}
	if status, _ := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot); status != http.StatusUnauthorized {
		t.Errorf("a plan without a token: %d", status)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, _ := s.ask(t, http.MethodGet, path, ""); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestOthersAreServedOnlyWithTLSAndAToken(t *testing.T) {
	const token = "0123456789abcdef"
	for _, c := range []struct {
		address serve.Address
		token   string
		want    string // part of the error, "" for none
	}{
		{serve.Address{Host: "127.0.0.1:0"}, "", ""},
		{serve.Address{Host: "[::1]:0"}, "", ""},
		{serve.Address{Host: "localhost:0"}, "", ""},
		{serve.Address{Host: "0.0.0.0:0", Cert: "c", Key: "k"}, token, ""},
		{serve.Address{Host: "0.0.0.0:0"}, "", "reached from elsewhere"},
		{serve.Address{Host: ":0"}, token, "reached from elsewhere"},
		{serve.Address{Host: "[::]:0"}, token, "reached from elsewhere"},
		{serve.Address{Host: "gpu-head:0", Cert: "c", Key: "k"}, "", "reached from elsewhere"},
		{serve.Address{Host: "0.0.0.0:0", Cert: "c"}, token, "want both"},
		{serve.Address{Host: "127.0.0.1:0"}, "short", "5 bytes"},
		{serve.Address{Host: "127.0.0.1"}, "", "host:port"},
	} {
		err := c.address.Validate(c.token)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v with token %q: %v, want %q", c.address, c.token, err, c.want)
		}
	}
}

// identify writes a certificate for this machine with a serial number, and sets its files in the address.
func identify(t testing.TB, a *serve.Address, dir string, number int64) *x509.Certificate {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(number), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	cert := must.Get(x509.CreateCertificate(rand.Reader, about, about, key.Public(), key))(t)
	secret := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	a.Cert, a.Key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		a.Cert: {Type: "CERTIFICATE", Bytes: cert}, a.Key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		must.Do(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	out := must.Get(x509.ParseCertificate(cert))(t)
	return out
}

// TestACertificateIsReplaced checks that new connections use a replaced certificate, unless it is invalid or does not match the
// key.
func TestACertificateIsReplaced(t *testing.T) {
	const token = "0123456789abcdef"
	dir, address := t.TempDir(), serve.Address{Host: "127.0.0.1:0"}
	identify(t, &address, dir, 1)
	ln := must.Get(address.Listen(t.Context(), token))(t)
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello")) // does the handshake first
			_ = c.Close()
		}
	}()
	expect := func(when string, want int64) {
		t.Helper()
		c, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(t.Context(), "tcp", ln.Addr().String())
		must.Do(t, err)
		defer c.Close()
		if got := c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64(); got != want {
			t.Errorf("%s: certificate %d, want %d", when, got, want)
		}
	}
	expect("at first", 1)
	identify(t, &address, dir, 2)
	expect("when it was replaced", 2)
	must.Do(t, os.WriteFile(address.Cert, []byte("garbage"), 0o600))
	expect("when it was damaged", 2)
	other := serve.Address{}
	identify(t, &other, t.TempDir(), 3)
	must.Do(t, os.Rename(other.Cert, address.Cert))
	expect("when its key is another", 2)
	must.Do(t, os.Rename(other.Key, address.Key))
	expect("when the key follows", 3)
}

func TestTLS(t *testing.T) {
	const token = "0123456789abcdef"
	address := serve.Address{Host: "127.0.0.1:0"}
	cert := identify(t, &address, t.TempDir(), 1)
	s := newSite(t, decidetest.Baseline("fifo"), func(c *serve.Config) { c.Token = token })
	ctx, end := context.WithCancel(t.Context())
	ln := must.Get(address.Listen(ctx, token))(t)
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln, time.Hour, serve.Shutdown{Drain: time.Minute}, nil) }()
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	for header, want := range map[string]int{"Bearer " + token: http.StatusOK, "Bearer 0123456789abcdeg": http.StatusUnauthorized} {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+ln.Addr().String()+"/v1/plan", strings.NewReader(decidetest.Snapshot))
		must.Do(t, err)
		r.Header.Set("Authorization", header)
		res := must.Get(client.Do(r))(t)
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %s, want %d", header, res.Status, want)
		}
	}
	client.CloseIdleConnections()
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestTheServerDrains checks that a request in progress is answered when the server ends.
func TestTheServerDrains(t *testing.T) {
	hold, in := make(chan struct{}), make(chan struct{}, 1)
	s := newSite(t, decidetest.Script(func(*cluster.Txn) error { in <- struct{}{}; <-hold; return nil }).Policy(), nil)
	address := serve.Address{Host: "127.0.0.1:0"}
	ctx, end := context.WithCancel(t.Context())
	ln := must.Get(address.Listen(ctx, ""))(t)
	done, status := make(chan error, 1), make(chan int, 1)
	go func() { done <- s.Serve(ctx, ln, time.Hour, serve.Shutdown{Drain: time.Minute}, nil) }()
	go func() {
		res, err := http.Post("http://"+ln.Addr().String()+"/v1/plan", "application/json", strings.NewReader(decidetest.Snapshot))
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		_ = res.Body.Close()
		status <- res.StatusCode
	}()
	<-in
	end()
	for {
		if code, _ := s.ask(t, http.MethodGet, "/readyz", ""); code == http.StatusServiceUnavailable {
			break
		}
	}
	if code, _ := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot); code != http.StatusServiceUnavailable {
		t.Errorf("a new request: %d", code)
	}
	close(hold)
	if got := <-status; got != http.StatusOK {
		t.Errorf("status %d of the request that had begun", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestReadinessFailsFirst checks that a server that is about to end answers new connections, and only /readyz fails, for as long
// as the delay of its shutdown.
func TestReadinessFailsFirst(t *testing.T) {
	s := newSite(t, decidetest.Baseline("fifo"), nil)
	address := serve.Address{Host: "127.0.0.1:0"}
	ctx, end := context.WithCancel(t.Context())
	ln := must.Get(address.Listen(ctx, ""))(t)
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln, time.Hour, serve.Shutdown{Delay: time.Hour, Drain: time.Minute}, nil) }()
	end()
	for {
		if code, _ := s.ask(t, http.MethodGet, "/readyz", ""); code == http.StatusServiceUnavailable {
			break
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, c := range []struct {
		path string
		want int
	}{{"/readyz", http.StatusServiceUnavailable}, {"/healthz", http.StatusOK}} {
		res, err := client.Get("http://" + ln.Addr().String() + c.path)
		if err != nil {
			t.Fatalf("%s: a new connection is refused: %v", c.path, err)
		}
		_ = res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s: %s, want %d", c.path, res.Status, c.want)
		}
	}
	if code, _ := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot); code != http.StatusOK {
		t.Errorf("a plan during the delay: %d", code)
	}
	_ = ln.Close()
	<-done // the delay is too long to wait for
}
