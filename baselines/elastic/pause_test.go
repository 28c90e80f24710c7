package elastic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

// TestWhereChangeCosts checks two cases. If a resize costs time, jobs give up workers only for a gang that starts, and grow only
// if that saves more than it costs. If distance costs speed, a gang may wait, and a growing job may move to stay together.
func TestWhereChangeCosts(t *testing.T) {
	far := physics.Compose(physics.InterServer{Penalty: 4}) // on two servers: a third of the speed on one
	full := site{training: 1, gpus: 4, runs: []at{{stretchy("a", 1, 3, 900), on([2]int32{0, 3})}}}
	small := site{training: 1, gpus: 4, runs: []at{{stretchy("a", 1, 3, 900), on([2]int32{0, 2})}}}
	holes := site{training: 2, gpus: 2, physics: far, runs: []at{
		{rigid("x", 1, 9), on([2]int32{0, 1})}, {rigid("y", 1, 9), on([2]int32{1, 1})},
	}}
	beside := site{training: 2, gpus: 4, physics: far, runs: []at{
		{stretchy("a", 1, 4, 900), on([2]int32{0, 1})}, {rigid("x", 3, 9), on([2]int32{0, 3})},
	}}
	costs := func(pause time.Duration) func(*elastic.Config) {
		return func(c *elastic.Config) { c.Pause = pause }
	}
	for _, c := range []struct {
		name   string
		site   site
		arrive []need
		policy elastic.Policy
		option func(*elastic.Config)
		want   string
	}{
		{"at no cost a job gives up what it is not to have", full, []need{rigid("b", 1, 1)}, least{}, costs(0), "a = 0:1, b = 0:1"},
		{"at a cost it keeps what nobody needs", full, []need{rigid("b", 1, 1)}, least{}, costs(time.Minute), "b = 0:1"},
		{"and gives up what a gang needs", full, []need{rigid("b", 2, 1)}, least{}, costs(time.Minute), "a = 0:1, b = 0:2"},
		{"at no cost it grows", small, nil, most{}, costs(0), "a = 0:3"},
		{"where that saves more than it costs, too", small, nil, most{}, costs(time.Minute), "a = 0:3"}, // 1350 s become 900 s
		{"else not", small, nil, most{}, costs(10 * time.Minute), ""},
		{"a gang starts scattered", holes, []need{rigid("b", 2, 1)}, most{}, costs(0), "b = 0:1 1:1"},
		{"or waits", holes, []need{rigid("b", 2, 1)}, most{}, func(c *elastic.Config) { c.Slowest = 0.5 }, ""},
		{"unless it is fast enough", holes, []need{rigid("b", 2, 1)}, most{}, func(c *elastic.Config) { c.Slowest = 0.3 }, "b = 0:1 1:1"},
		{"a job moves to grow", beside, nil, most{}, func(c *elastic.Config) { c.Gather = true }, "a = 1:4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := elastic.Literal()
			c.option(&cfg)
			if got := strings.Join(decide(t, c.site, c.arrive, c.policy, cfg), ", "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// crawl is physics in which a gang on several servers is very slow.
type crawl struct{}

func (crawl) Speed(s *cluster.View, id cluster.JobID) float64 {
	return 1 / float64(10*len(s.Placement(id)))
}

func (crawl) Coupled(_ *cluster.View, _ cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	return dst
}

// TestScatteredGangStartsAlone checks that a gang waits for servers near each other only while something else runs.
func TestScatteredGangStartsAlone(t *testing.T) {
	cfg := elastic.Literal()
	cfg.Slowest = 1
	gang := []need{rigid("b", 2, 1)}
	alone := site{training: 2, gpus: 1, physics: crawl{}}
	if got := strings.Join(decide(t, alone, gang, most{}, cfg), ", "); got != "b = 0:1 1:1" {
		t.Errorf("%q, want it to start", got)
	}
	busy := site{training: 3, gpus: 1, physics: crawl{}, runs: []at{{rigid("x", 1, 9), on([2]int32{2, 1})}}}
	if got := decide(t, busy, gang, most{}, cfg); len(got) > 0 {
		t.Errorf("%q beside another job, want it to wait", got)
	}
}
