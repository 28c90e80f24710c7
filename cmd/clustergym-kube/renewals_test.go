package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
)

// TestWritesNeedAFreshLease checks that requests that write are refused before the first renewal, when the last one is too long
// ago by either clock, and after the lease was given up, and that requests that read never are.
func TestWritesNeedAFreshLease(t *testing.T) {
	start := time.Now()
	now := start
	r := &renewals{most: 10 * time.Second, now: func() time.Time { return now }}
	client := r.guard(transport(func(*http.Request) (*http.Response, error) { return &http.Response{Body: http.NoBody}, nil }))
	for _, step := range []struct {
		name  string
		do    func()
		fresh bool
	}{
		{"before the lease is held", func() {}, false},
		{"after a renewal", func() { r.note(start) }, true},
		{"10 s later", func() { now = start.Add(10 * time.Second) }, true},
		{"10 s and a bit later", func() { now = start.Add(10*time.Second + 1) }, false},
		{"after another renewal", func() { r.note(now) }, true},
		{"when the machine has slept", func() { r.note(start.Add(-time.Hour).Round(0)) }, false},
		{"when the lease was given up", func() { r.note(time.Time{}) }, false},
	} {
		step.do()
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			request := must.Get(http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1/", strings.NewReader("{}")))(t)
			answer, err := client.RoundTrip(request)
			if err == nil {
				_ = answer.Body.Close()
			}
			if allowed := step.fresh || method == "GET"; (err == nil) != allowed || err != nil && !errors.Is(err, errStale) {
				t.Errorf("%s: %s has error %v, want it allowed: %t", step.name, method, err, allowed)
			}
		}
	}
}
