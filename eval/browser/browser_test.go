package browser

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

const usual = `{"policies":["fifo","srtf"],"servers":4,"gpus_per_server":8,"jobs":120,"load":1.2,"seed":1}`

// TestAnswers checks for every policy that all jobs end and are drawn, and that equal requests give equal answers.
func TestAnswers(t *testing.T) {
	for _, policy := range Policies() {
		request := strings.Replace(usual, `["fifo","srtf"]`, `["`+policy+`"]`, 1)
		text, err := JSON(request)
		if err != nil {
			t.Fatalf("%s: %v", policy, err)
		}
		if again, err := JSON(request); err != nil || again != text {
			t.Errorf("%s: the same request gives another answer, error %v", policy, err)
		}
		var a Answer
		must.Do(t, json.Unmarshal([]byte(text), &a))
		if s := a.Schedules[0]; s.Policy != policy || s.MeanJCT <= 0 || s.Finished != 120 {
			t.Errorf("%s: %+v", policy, s)
		}
		if n := strings.Count(a.Text, "\n"); n < 8 || n > lines || !strings.HasPrefix(a.Text, policy+": mean JCT") {
			t.Errorf("%s: %d lines\n%s", policy, n, a.Text)
		}
	}
}

func TestRequestsAreLimited(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`["fifo","srtf"]`, `[]`, "0 policies, want 1 to 4"},
		{`["fifo","srtf"]`, `["fifo","released"]`, `policy "released", want one of fifo, `},
		{`"servers":4`, `"servers":33`, "servers: 33, want 1 to 32"},
		{`"gpus_per_server":8`, `"gpus_per_server":0`, "GPUs per server: 0, want 1 to 8"},
		{`"jobs":120`, `"jobs":501`, "jobs: 501, want 1 to 500"},
		{`"load":1.2`, `"load":5`, "load: 5, want 0.1 to 4"},
		{`"jobs"`, `"job"`, `unknown field "job"`},
		{`"seed":1}`, `"seed":1} x`, "more after the object"},
		{`"seed":1`, `"seed":1,"load":1e999`, "read request"},
		{usual, strings.Repeat(" ", mostBytes) + usual, "want at most 4096"},
	} {
		_, err := JSON(strings.Replace(usual, c.from, c.to, 1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.to, err, c.want)
		}
	}
}

// FuzzRequest checks that no text makes the page's simulator fail in another way than with an error.
func FuzzRequest(f *testing.F) {
	f.Add(usual)
	f.Add(`{"policies":["las"],"servers":1,"gpus_per_server":1,"jobs":3,"load":4,"seed":18446744073709551615}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parse(text)
		if err != nil || r.Jobs > 30 {
			return
		}
		if _, err := Simulate(r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	})
}
