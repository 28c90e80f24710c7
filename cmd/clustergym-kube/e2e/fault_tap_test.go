package e2e

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/internal/must"
)

// tap is a proxy between a program and the API server. It records the program's requests.
type tap struct {
	kubeconfig string // for the program

	mu     sync.Mutex
	asked  []request
	before func(kind, path string) // called before a write is passed on, without the lock; may be nil
	after  func(kind, path string) // called after the write, before the program gets the answer
}

// request is a request of the program.
type request struct {
	at   time.Time // time of its answer
	kind string    // see kindOf; "" for a read
	code int
}

// newTap starts a tap for a program that has the identity in the configuration.
func newTap(t testing.TB, c *kubetest.Cluster, name string, config *rest.Config) *tap {
	t.Helper()
	to := must.Get(url.Parse(config.Host))(t)
	transport := must.Get(rest.TransportFor(config))(t)
	p := &tap{kubeconfig: filepath.Join(c.Dir, name+".kubeconfig")}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: transport, FlushInterval: -1,
		ErrorLog: log.New(io.Discard, "", 0), // discards errors of killed programs
		ModifyResponse: func(r *http.Response) error {
			p.note(kindOf(r.Request.Method, r.Request.URL.Path), r.Request.URL.Path, r.StatusCode)
			return nil
		},
		// The program finds the connection closed, as it would without the proxy.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := kindOf(r.Method, r.URL.Path)
		p.mu.Lock()
		before := p.before
		p.mu.Unlock()
		if before != nil && kind != "" {
			before(kind, r.URL.Path)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { _ = server.Config.Close() }) // does not wait for open watches
	k := clientcmdapi.NewConfig()
	k.Clusters["tap"] = &clientcmdapi.Cluster{Server: server.URL}
	k.Contexts["tap"] = &clientcmdapi.Context{Cluster: "tap"}
	k.CurrentContext = "tap"
	must.Do(t, clientcmd.WriteToFile(*k, p.kubeconfig))
	return p
}

func (p *tap) note(kind, path string, code int) {
	p.mu.Lock()
	p.asked = append(p.asked, request{time.Now(), kind, code})
	after := p.after
	p.mu.Unlock()
	if after != nil && kind != "" {
		after(kind, path)
	}
}

// hook sets the functions to call before and after writes.
func (p *tap) hook(before, after func(kind, path string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before, p.after = before, after
}

// kindOf returns the kind of a write, such as "bind", "evict" or "delete pods", or "" for a read.
func kindOf(method, path string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return ""
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch last := parts[len(parts)-1]; last {
	case "binding":
		return "bind"
	case "eviction":
		return "evict"
	}
	for i, part := range parts { // after namespaces and a namespace's name comes the resource
		if part == "namespaces" && len(parts) > i+2 {
			return strings.ToLower(method) + " " + strings.Join(slices.Delete(slices.Clone(parts[i+2:]), 1, min(2, len(parts)-i-2)), "/")
		}
	}
	return strings.ToLower(method) + " " + strings.Join(parts[min(2, len(parts)-1):min(3, len(parts))], "/")
}

// count returns the number of successful writes of a kind, or of all kinds for "".
func (p *tap) count(kind string) (n int) {
	for _, r := range p.done() {
		if kind == "" || r.kind == kind {
			n++
		}
	}
	return n
}

// done returns the successful writes, sorted by time.
func (p *tap) done() (all []request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.asked {
		if r.kind != "" && r.code < 300 {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b request) int { return a.at.Compare(b.at) })
	return all
}

// writes returns the numbers of writes, successful or not, and of reads.
func (p *tap) writes() (writes, reads int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.asked {
		if r.kind != "" {
			writes++
		} else {
			reads++
		}
	}
	return writes, reads
}

// refused returns the number of writes of a kind that were answered with the HTTP code.
func (p *tap) refused(kind string, code int) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.asked {
		if r.kind == kind && r.code == code {
			n++
		}
	}
	return n
}

// acts returns the times of successful bindings and deletions.
func (p *tap) acts() (at []time.Time) {
	for _, r := range p.done() {
		if r.kind == "bind" || r.kind == "evict" || r.kind == "delete pods" {
			at = append(at, r.at)
		}
	}
	return at
}

// logged returns the lines with the message in all logs of the cluster's programs whose names begin with prefix.
func logged(t testing.TB, c *kubetest.Cluster, prefix, message string) (lines []string) {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(c.Logs, prefix+"*.log")))(t)
	slices.Sort(files)
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		for line := range strings.SplitSeq(string(text), "\n") {
			if m, _ := field(line, "msg"); m == message {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// number returns the value of a metric.
func (s *scheduler) number(t testing.TB, name string) int {
	t.Helper()
	text := s.metric(t, name)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("metric %s is %q", name, text)
	}
	return int(n)
}

func (s *scheduler) boundGangs(t testing.TB) int {
	t.Helper()
	return s.number(t, `clustergym_kube_bound_total{what="gangs"}`)
}

// moreThan returns a function for Await that waits until more than n gangs were bound.
func (s *scheduler) moreThan(t testing.TB, n int) func(context.Context) error {
	return func(context.Context) error {
		if now := s.boundGangs(t); now <= n {
			return fmt.Errorf("%d gangs were bound, want more than %d", now, n)
		}
		return nil
	}
}

// sayDeleted returns the names of the pods that the programs have deleted or evicted according to their logs, sorted; a name
// occurs as often as it was deleted.
func sayDeleted(t testing.TB, k *checker, prefix string) (names []string) {
	t.Helper()
	for _, message := range []string{"delete", "evict"} {
		for _, line := range logged(t, k.c, prefix, message) {
			pod, _ := field(line, "pod")
			names = append(names, pod)
		}
	}
	slices.Sort(names)
	return names
}

// explained checks that the programs' logs explain each pod that was deleted. A pod of a gang that a log reports as given up counts
// as explained, because the program may have been killed before it logged the deletion.
func (k *checker) explained(t testing.TB, prefix string) {
	t.Helper()
	said := sayDeleted(t, k, prefix)
	meant := map[string]bool{}
	for _, line := range logged(t, k.c, prefix, "gang given up") {
		gang, _ := field(line, "gang")
		meant[gang] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, name := range k.gone {
		if at := slices.Index(said, name); at >= 0 {
			said = slices.Delete(said, at, at+1)
		} else if !meant[name[:max(0, len(name)-2)]] { // pods are named GANG-0 to GANG-9
			t.Errorf("pod %s was deleted, and nobody says why", name)
		}
	}
}
