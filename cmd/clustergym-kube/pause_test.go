//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/control"
	"github.com/clustergym/clustergym/internal/must"
)

// paused names the API server for the process that TestPausedLeaderWritesNothing pauses.
const paused = "CLUSTERGYM_PAUSED_LEADER"

// leaseServer is the part of an API server that has one lease, and counts bindings.
type leaseServer struct {
	mu    sync.Mutex
	lease *coordinationv1.Lease
	bound int
}

func (s *leaseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/binding"):
		s.bound++
		_ = json.NewEncoder(w).Encode(metav1.Status{Status: metav1.StatusSuccess})
		return
	case r.Method != http.MethodGet:
		lease := new(coordinationv1.Lease)
		if err := json.NewDecoder(r.Body).Decode(lease); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if s.lease != nil && lease.ResourceVersion != s.lease.ResourceVersion {
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(metav1.Status{Status: metav1.StatusFailure, Code: 409, Reason: metav1.StatusReasonConflict})
			return
		}
		s.set(lease)
	case s.lease == nil:
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(metav1.Status{Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound})
		return
	}
	_ = json.NewEncoder(w).Encode(s.lease)
}

func (s *leaseServer) set(lease *coordinationv1.Lease) {
	version := "1"
	if s.lease != nil {
		version = s.lease.ResourceVersion + "1"
	}
	s.lease = lease
	lease.ResourceVersion = version
}

// TestPausedLeaderWritesNothing pauses a process that leads with SIGSTOP until another one has the lease. It then has the process
// write, which must fail: it is asked to do so while it is paused, so it writes before it can notice that another one leads.
func TestPausedLeaderWritesNothing(t *testing.T) {
	if at := os.Getenv(paused); at != "" {
		leadAt(t, at)
		return
	}
	server := &leaseServer{}
	listening := httptest.NewServer(server)
	defer listening.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	leader := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPausedLeaderWritesNothing$")
	leader.Env = append(os.Environ(), paused+"="+listening.URL)
	leader.Stderr = os.Stderr
	ask := must.Get(leader.StdinPipe())(t)
	out := must.Get(leader.StdoutPipe())(t)
	must.Do(t, leader.Start())
	answers := bufio.NewScanner(out)
	answer := func() string {
		if !answers.Scan() {
			t.Fatalf("the leader ended: %v", answers.Err())
		}
		return answers.Text()
	}
	write := func() {
		if _, err := io.WriteString(ask, "write\n"); err != nil {
			t.Fatal(err)
		}
	}
	if got := answer(); got != "leading" {
		t.Fatalf("the process says %q, want that it leads", got)
	}
	write()
	if got := answer(); got != "written" {
		t.Fatalf("the leader says %q, want that it has written", got)
	}
	must.Do(t, leader.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus // the signal takes effect only some time after it was sent
	if _, err := syscall.Wait4(leader.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the leader did not stop: status %v, error %v", status, err)
	}
	write()
	time.Sleep(shortLease.held) // another one may take the lease only now
	server.mu.Lock()
	other, now := "other", metav1.NowMicro()
	lease := server.lease.DeepCopy()
	lease.Spec.HolderIdentity, lease.Spec.RenewTime = &other, &now
	server.set(lease)
	server.mu.Unlock()
	must.Do(t, leader.Process.Signal(syscall.SIGCONT))
	if got := answer(); got != "refused" {
		t.Errorf("the leader that was paused says %q, want that its write was refused", got)
	}
	_ = ask.Close()
	_ = leader.Wait()
	server.mu.Lock()
	defer server.mu.Unlock()
	if server.bound != 1 {
		t.Errorf("%d bindings reached the server, want the one before the pause", server.bound)
	}
}

// shortLease are the times of the test's lease. They are long enough for a busy machine to renew it.
var shortLease = leaseTimes{held: 6 * time.Second, renew: 4 * time.Second, retry: 500 * time.Millisecond}

// leadAt leads, and binds a pod for each line of its input, until the input ends. It prints what becomes of that.
func leadAt(t *testing.T, url string) {
	c := &connected{Config: control.Config{Namespace: "ns"}, renewals: &renewals{most: shortLease.renew}}
	config := &rest.Config{Host: url, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
	var err error
	if c.lease, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	config.Wrap(c.renewals.guard)
	client, err := kubernetes.NewForConfig(config)
	must.Do(t, err)
	ctx, end := context.WithCancel(t.Context())
	err = lead(ctx, c, shortLease, func(context.Context) {
		fmt.Println("leading")
		for asked := bufio.NewScanner(os.Stdin); asked.Scan(); {
			// The context is not that of the lease, which would end as soon as the loss is noticed.
			err := client.CoreV1().Pods("ns").Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, metav1.CreateOptions{})
			if err == nil {
				fmt.Println("written")
			} else {
				fmt.Println("refused")
			}
		}
		end()
	}, slog.New(slog.DiscardHandler))
	_ = err // that another one leads
}
