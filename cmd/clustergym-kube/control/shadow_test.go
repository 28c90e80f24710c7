package control

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clustergym/clustergym/internal/must"
)

// TestShadowCompares checks that each gang that another scheduler starts is compared once with what the policy would have done.
func TestShadowCompares(t *testing.T) {
	nodes := []*corev1.Node{node("a", 2, nil), node("b", 4, nil)}
	g := crew{name: "g", pods: 2, least: 2, gpus: 1, asked: time.Hour}
	big := crew{name: "big", pods: 4, least: 4, gpus: 1, asked: time.Minute}
	full := crew{name: "full", pods: 4, least: 4, gpus: 1, on: []string{"b", "b", "b", "b"}, asked: 2 * time.Hour}
	started := func(g crew, on ...string) crew { g.on = on; return g }
	for _, c := range []struct {
		name   string
		rounds [][]crew
		want   []string // who started each gang first, in order
		same   any      // whether the last gang has the same nodes
	}{
		{"started as it would", [][]crew{{g, full}, {started(g, "a", "a"), full}}, []string{firstSame}, true},
		{"started where it would not", [][]crew{{g}, {started(g, "b", "b")}}, []string{firstSame}, false},
		{"started later", [][]crew{{g, full}, {g, full}, {started(g, "a", "a"), full}}, []string{firstPolicy}, true},
		{"started what it let wait", [][]crew{{g, big, started(full, "b")}, {g, started(big, "a", "a", "b", "b"), started(full, "b")}},
			[]string{firstOther}, nil},
		{"pod by pod", [][]crew{{g, full}, {started(g, "a"), full}, {started(g, "a", "a"), full}}, []string{firstSame}, true},
		{"pod by pod what it let wait", [][]crew{{g, big, started(full, "b")}, {g, started(big, "a", "a"), started(full, "b")},
			{g, started(big, "a", "a", "b", "b"), started(full, "b")}}, []string{firstOther}, nil},
		{"running from the beginning", [][]crew{{full}, {full}}, nil, nil},
		{"told once", [][]crew{{g}, {started(g, "a", "a")}, {started(g, "a", "a")}}, []string{firstSame}, true},
		{"gone without a start", [][]crew{{g}, {}, {started(g, "a", "a")}}, nil, nil},
	} {
		m := must.Get(newMetrics(prometheus.NewRegistry()))(t)
		var text bytes.Buffer
		w, d := newShadow(), decider(t, "fifo")
		for i, crews := range c.rounds {
			v, _ := view(t, nodes, crews, 0)
			now := noon.Add(time.Duration(i+1) * time.Minute)
			w.compare(decideRound(v, d, "r", limits{}), now, m, slog.New(slog.NewJSONHandler(&text, nil)))
		}
		var first []string
		var same any
		for line := range bytes.SplitSeq(bytes.TrimSpace(text.Bytes()), []byte("\n")) {
			var said struct {
				Msg, First string
				Same       any `json:"same_nodes"`
			}
			if len(line) > 0 {
				must.Do(t, json.Unmarshal(line, &said))
			}
			if said.Msg == "compared" {
				first, same = append(first, said.First), said.Same
			}
		}
		if !slices.Equal(first, c.want) || same != c.same {
			t.Errorf("%s: first %q, same nodes %v; want %q, %v\n%s", c.name, first, same, c.want, c.same, &text)
		}
	}
}
