package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/units"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/train"
)

// TestPrometheusReadsWhatWorkersDo checks the metrics of a pool with a worker, a refused answer and a refused worker, and that
// requests need the token.
func TestPrometheusReadsWhatWorkersDo(t *testing.T) {
	var talk bytes.Buffer
	a := &app{App: cmdline.New(strings.NewReader(""), io.Discard, &talk)}
	o := poolOptions{token: file(t, "token", "sixteen bytes and more")}
	o.listen.Host, o.access.Queue = "127.0.0.1:0", "mine"
	o.metrics = metricsOptions{host: "127.0.0.1:0", tokenFile: file(t, "scrape", "another sixteen bytes")}
	p, err := o.open(t.Context(), t.TempDir(), a, func(error) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close(true)
	refuse := true
	pool := p.of(trainJob)
	if err := pool.Start([]byte("job"), func(int, []byte) (refused, failed error) {
		if refuse {
			refuse = false
			return io.ErrUnexpectedEOF, nil
		}
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	pool.Give(1, 2, 3)
	for _, build := range []string{"", "linux/amd64-0123456789abcdef-01234567", ""} { // the first is refused for its answer
		access := work.Access{URL: p.url(), Token: p.access.Token}
		conn, err := access.Connect("w")
		if err != nil {
			t.Fatal(err)
		}
		if build == "" {
			if build, err = work.Build(train.Arithmetic()); err != nil {
				t.Fatal(err)
			}
		}
		w := work.Worker{Conn: conn, Name: "w", Queue: "mine", Build: build, Open: func(ctx context.Context, _ []byte) (work.Compute, error) {
			return func(context.Context, int) ([]byte, error) { return nil, nil }, nil
		}}
		ended := make(chan error, 1)
		go func() { ended <- w.Run(t.Context()) }()
		select {
		case <-ended:
		case err := <-waitFor(t.Context(), pool, 1, 2, 3):
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	url := regexp.MustCompile(`http://\S+/metrics`).FindString(talk.String())
	status, text := scrape(t, url, "another sixteen bytes")
	if status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	contains(t, text, `clustergym_workers{state="lost"} 0`, `clustergym_units{state="waiting"} 0`, "clustergym_units_done_total 3",
		"clustergym_answers_refused_total 1", "clustergym_workers_refused_total 1", "clustergym_units_per_second", "go_goroutines",
		"clustergym_units_left_seconds 0", "clustergym_unit_seconds_total")
	for _, token := range []string{"", "sixteen bytes and more"} {
		if status, _ := scrape(t, url, token); status != http.StatusUnauthorized {
			t.Errorf("token %q: status %d", token, status)
		}
	}
	for _, args := range [][]string{
		{"--metrics", "127.0.0.1:0"}, {"--metrics", "0.0.0.0:0", "--workers", "1"}, {"--metrics", "here", "--workers", "1"},
	} {
		args = append([]string{"eval", "-s", "embedded-small-v1", "-p", "fifo", "--out", t.TempDir()}, args...)
		if s := command(t, args...); s.code != cmdline.CodeUsage {
			t.Errorf("%v: exit code %d\n%s", args, s.code, s.talk)
		}
	}
}

// waitFor returns a channel for the result of Wait.
func waitFor(ctx context.Context, pool units.Pool, all ...int) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- pool.Wait(ctx, all...) }()
	return ended
}

func scrape(t *testing.T, url, token string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}
