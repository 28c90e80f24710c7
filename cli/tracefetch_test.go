package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	public "github.com/clustergym/clustergym/env/trace/fetch"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// TestTraceFetch checks that the sets are listed with licence and citation, that an unknown one is a usage error, and that without
// a server the error says what to put where. The package fetch tests the fetching.
func TestTraceFetch(t *testing.T) {
	t.Chdir(t.TempDir())
	if out := must(t, "trace", "fetch", "--list").out; strings.Count(out, "licence: ") != 6 || !strings.Contains(out, "Hu et al., SC 2021") {
		t.Errorf("the list:\n%s", out)
	}
	if s := command(t, "trace", "fetch", "helios"); s.code != cmdline.CodeUsage || !strings.Contains(s.talk, "helios-venus-2020-06") {
		t.Errorf("an unknown set: exit code %d, %s", s.code, s.talk)
	}
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	traceSite = server.URL
	defer func() { traceSite = public.Site }()
	s := command(t, "trace", "fetch", "--to", "data", "philly-2017-pass")
	const want = "put it at data/traces/philly-2017-pass/philly.csv.gz.part and give the same command again"
	if s.code != cmdline.CodeError || !strings.Contains(s.talk, want) {
		t.Errorf("without a server: exit code %d, %s", s.code, s.talk)
	}
}
