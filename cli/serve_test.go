package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

// talk collects the messages of a running command.
type talk struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *talk) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *talk) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

var servingAt = regexp.MustCompile(`"address":"([^"]+)"`)

// serving runs serve until the caller calls end, which returns the exit code.
func serving(t *testing.T, args ...string) (url string, said *talk, end func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said = new(talk)
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, cmdline.New(strings.NewReader(""), io.Discard, said), append([]string{"serve", "--listen", "127.0.0.1:0"}, args...))
	}()
	end = sync.OnceValue(func() int { cancel(); return <-code })
	t.Cleanup(func() { end() })
	for {
		if m := servingAt.FindStringSubmatch(said.String()); m != nil {
			return "http://" + m[1], said, end
		}
		select {
		case c := <-code:
			t.Fatalf("serve: exit code %d\n%s", c, said)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func fetch(t *testing.T, method, url, body string) string {
	t.Helper()
	status, text := request(t, method, url, body)
	if status != http.StatusOK {
		t.Fatalf("%s %s: status %d\n%s", method, url, status, text)
	}
	return text
}

// request sends a request and returns the status and the text of its answer.
func request(t *testing.T, method, url, body string) (status int, answer string) {
	t.Helper()
	r := require.Get(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	res := require.Get(http.DefaultClient.Do(r))(t)
	defer res.Body.Close()
	text := require.Get(io.ReadAll(res.Body))(t)
	return res.StatusCode, string(text)
}

// TestServeAnswersAsPlanDoes checks that serve answers with what plan --json prints and the decision's details, and that serve
// replay gives the same decision.
func TestServeAnswersAsPlanDoes(t *testing.T) {
	t.Setenv(tokenVariable, "")
	example := must(t, "plan", "--example").out
	snapshot := file(t, "cluster.json", example)
	for _, policy := range []string{"fifo", "sjfskip", "srtf", policy.Prior, released.Name} {
		log := filepath.Join(t.TempDir(), "decisions.jsonl")
		url, _, end := serving(t, "--policy", policy, "--decision-log", log, "--deadline", "1m")
		answer := fetch(t, http.MethodPost, url+"/v1/plan", example)
		if code := end(); code != cmdline.CodeOK {
			t.Errorf("%s: exit code %d", policy, code)
		}
		// The decision is the last field.
		at := strings.Index(answer, ",\n  \"decision\": {")
		if at < 0 {
			t.Fatalf("%s: no decision in\n%s", policy, answer)
		}
		if want := must(t, "plan", "--snapshot", snapshot, "--policy", policy, "--json").out; answer[:at]+"\n}\n" != want {
			t.Errorf("%s: serve answers\n%s\nplan prints\n%s", policy, answer[:at], want)
		}
		contains(t, answer[at:], `"by": "policy"`, `"policy": "`+policy+`"`)
		contains(t, must(t, "replay", log).out, "1 decisions: 1 the same, 0 differ, 0 failed")
	}
}

// TestServeByAnObjective checks that serve decides by an objective and counts what the cluster costs, and that replay decides by the
// same one.
func TestServeByAnObjective(t *testing.T) {
	t.Setenv(tokenVariable, "")
	log := filepath.Join(t.TempDir(), "decisions.jsonl")
	url, _, end := serving(t, "--policy", "index", "--objective", "small-first", "--decision-log", log)
	contains(t, fetch(t, http.MethodPost, url+"/v1/plan", must(t, "plan", "--example").out), `"wake_s"`)
	contains(t, fetch(t, http.MethodGet, url+"/metrics", ""), `clustergym_cost_per_minute{objective="small-first",term="wait"}`)
	end()
	contains(t, must(t, "replay", log).out, "1 decisions: 1 the same, 0 differ, 0 failed")
}

func TestServeReplayTellsWhatDiffers(t *testing.T) {
	t.Setenv(tokenVariable, "")
	log := filepath.Join(t.TempDir(), "decisions.jsonl")
	url, _, end := serving(t, "--policy", "sjfskip", "--decision-log", log)
	for range 2 {
		fetch(t, http.MethodPost, url+"/v1/plan", must(t, "plan", "--example").out)
	}
	end()
	text := read(t, log)
	tampered := file(t, "tampered.jsonl", strings.Replace(text, `"gpus":[2,3,4,5]`, `"gpus":[1,3,4,5]`, 1)+"{\n")
	s := command(t, "replay", tampered, "--json")
	if s.code != cmdline.CodeSomeFailed {
		t.Errorf("exit code %d", s.code)
	}
	var r replayedLog
	require.Do(t, json.Unmarshal([]byte(s.out), &r))
	if r.Decisions != 3 || r.Same != 1 || r.Differ != 1 || r.Failed != 1 || r.Lines[0].Line != 1 ||
		!strings.Contains(r.Lines[0].Differs, "gpus[0]: 1 in the log, now 2") || !strings.Contains(r.Lines[1].Error, "line 3: damaged") {
		t.Errorf("%+v", r)
	}
	if s := command(t, "replay", log, log); s.code != cmdline.CodeUsage || !strings.Contains(s.talk, "is a decision log: want it alone") {
		t.Errorf("two decision logs: exit code %d, %s", s.code, s.talk)
	}
	if s := command(t, "replay", log, "--policy", "fifo"); s.code != cmdline.CodeSomeFailed {
		t.Errorf("another policy: exit code %d\n%s", s.code, s.out)
	}
}

// TestServeReplayFindsThePrior checks that replay finds a prior that decided as fallback through the team that it belongs
// to.
func TestServeReplayFindsThePrior(t *testing.T) {
	t.Setenv(tokenVariable, "")
	run := filepath.Join(t.TempDir(), "team")
	train2(t, run)
	log := filepath.Join(t.TempDir(), "decisions.jsonl")
	url, _, end := serving(t, "--policy", policy.Prior, "--decision-log", log, "--deadline", "1m")
	fetch(t, http.MethodPost, url+"/v1/plan", must(t, "plan", "--example").out)
	end()
	team := regexp.MustCompile(`"policy":"prior","digest":"\w+","by":"policy"`).ReplaceAllString(read(t, log),
		`"policy":"mine","by":"fallback","fallback":{"policy":"prior","reason":"deadline","why":"late"}`)
	stood := file(t, "stood.jsonl", team)
	if s := command(t, "replay", stood); s.code != cmdline.CodeSomeFailed || !strings.Contains(s.out, `"mine"`) {
		t.Errorf("a team without a folder: exit code %d\n%s", s.code, s.out)
	}
	contains(t, must(t, "replay", stood, "--policy", run).out, "1 the same, 0 differ, 0 failed")
}

// TestServeReloadsABundle checks that serve reloads a changed bundle, and keeps the old one if the new one is damaged.
func TestServeReloadsABundle(t *testing.T) {
	t.Setenv(tokenVariable, "")
	defer func(before time.Duration) { pollEvery = before }(pollEvery)
	pollEvery = 10 * time.Millisecond
	dir := filepath.Join(t.TempDir(), "policy")
	require.Do(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "checkpoints", "released"))))
	url, said, end := serving(t, "--policy", dir)
	before := fetch(t, http.MethodGet, url+"/v1/policy", "")
	wait := func(part string) {
		t.Helper()
		for !strings.Contains(said.String(), part) {
			select {
			case <-t.Context().Done():
				t.Fatalf("no %q in\n%s", part, said)
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	weights := filepath.Join(dir, "weights.safetensors")
	good := read(t, weights)
	require.Do(t, os.WriteFile(weights, []byte(good[:len(good)-4]+"\x00\x00\x00\x7f"), 0o666))
	wait("the old one goes on")
	if now := fetch(t, http.MethodGet, url+"/v1/policy", ""); now != before {
		t.Errorf("a damaged bundle changed the policy:\n%s\n%s", before, now)
	}
	fetch(t, http.MethodPost, url+"/v1/plan", must(t, "plan", "--example").out)
	require.Do(t, os.WriteFile(weights, []byte(good), 0o666))
	wait(`"msg":"policy reloaded"`)
	contains(t, fetch(t, http.MethodGet, url+"/metrics", ""), `clustergym_reloads_total{result="ok"} `)
	if code := end(); code != cmdline.CodeOK {
		t.Errorf("exit code %d", code)
	}
}

func TestServeRefuses(t *testing.T) {
	t.Setenv(tokenVariable, "")
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"an address for everybody", []string{"--listen", "0.0.0.0:0"}, cmdline.CodeUsage, "can be reached from elsewhere"},
		{"a certificate without a key", []string{"--tls-cert", "c.pem"}, cmdline.CodeUsage, "want both or neither"},
		{"no such certificate", []string{"--tls-cert", "absent.pem", "--tls-key", "absent.pem"}, cmdline.CodeError, "absent.pem"},
		{"no such token", []string{"--token-file", "absent"}, cmdline.CodeError, "absent"},
		{"a short token", []string{"--token-file", file(t, "token", "abc\n")}, cmdline.CodeUsage, "3 bytes"},
		{"no deadline", []string{"--deadline", "0s"}, cmdline.CodeUsage, "--deadline 0s"},
		{"no such fallback", []string{"--fallback", "sjfskp"}, cmdline.CodeUsage, `did you mean "sjfskip"?`},
		{"no such policy", []string{"--policy", "runs/none"}, cmdline.CodeNoRun, "runs/none"},
		{"no such objective", []string{"--objective", "quick"}, cmdline.CodeUsage, `"quick"`},
		{"no such physics", []string{"--physics", "warp"}, cmdline.CodeUsage, `"warp"`},
	} {
		s := command(t, append([]string{"serve", "--policy", "fifo", "--listen", "127.0.0.1:0"}, c.args...)...)
		if s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%s: exit code %d, want %d\n%s", c.name, s.code, c.code, s.talk)
		}
	}
}

// TestOneWriterOfBeliefs checks that a file of beliefs that a server keeps is refused to another server and to beliefs --save, and
// that it is free when the server has ended.
func TestOneWriterOfBeliefs(t *testing.T) {
	t.Chdir(t.TempDir())
	const kept = "beliefs.json"
	must(t, "simulate", "--trace", file(t, "jobs.csv", jobs), "--servers", "2", "--gpus-per-server", "4", "--policy", "las", "--log-out", "log.jsonl")
	_, _, end := serving(t, "--policy", "srsf+know", "--beliefs", kept)
	before := read(t, kept)
	save := []string{"beliefs", "log.jsonl", "--save", kept}
	for _, args := range [][]string{{"serve", "--policy", "las+know", "--beliefs", "./" + kept, "--listen", "127.0.0.1:0"}, save} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		s := commandWith(ctx, "", args...)
		cancel()
		if s.code != cmdline.CodeError || !strings.Contains(s.talk, kept+" is in use by process") {
			t.Errorf("%v: exit code %d, %s", args, s.code, s.talk)
		}
	}
	if read(t, kept) != before {
		t.Error("the file is another one")
	}
	if code := end(); code != cmdline.CodeOK {
		t.Errorf("the server's exit code is %d", code)
	}
	must(t, save...)
	if files, err := filepath.Glob(".*"); err != nil || len(files) > 0 {
		t.Errorf("left: %q, %v", files, err)
	}
}
