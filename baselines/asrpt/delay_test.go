package asrpt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// TestHolds uses jobs 1 and 2, which leave one GPU free on each of two servers. At 33 s a gang of two that communicates much
// enters the queue, and the rule holds it for at most its 36 s. At 45 s a small job enters.
func TestHolds(t *testing.T) {
	const second = time.Second
	longer := func(j trace.Job, work time.Duration) trace.Job { j.Work = work; return j }
	gang := whole(0, 36*second, 2)
	gang.Model = "bert-large"
	for _, c := range []struct {
		name   string
		free   time.Duration // run time of job 1, which starts at 10 s
		change func(*Config)
		want   string
	}{
		{"until a server has room", 50 * second, func(*Config) {}, "small 45s, gang 1m0s on 1"},
		{"not with tau 0", 50 * second, func(c *Config) { c.Tau = 0 }, "gang 33s on 2, small 1m0s"},
		{"not one that sends less than theta", 50 * second, func(c *Config) { c.Theta = 1000 }, "gang 33s on 2, small 1m0s"},
		{"not within epsilon", 50 * second, func(c *Config) { c.Epsilon = 1000 }, "gang 33s on 2, small 1m0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := Default()
			config.Predictor, config.Tau = told{1}, 1
			c.change(&config)
			jobs := named(longer(whole(0, 30*second, 2), c.free), longer(whole(0, 33*second, 2), 500*second), gang,
				longer(whole(0, 72*second, 1), second))
			l := run(t, sim.Config{Cluster: cluster.Uniform(2, 3)}, jobs, New("a-srpt", config), 1)
			var got []string
			for i := range l.Records {
				switch r := &l.Records[i]; {
				case r.Kind == sim.Start && r.Job == 2:
					got = append(got, fmt.Sprintf("gang %v on %d", r.At, len(l.Placement(r))))
				case r.Kind == sim.Start && r.Job == 3:
					got = append(got, fmt.Sprintf("small %v", r.At))
				}
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestHoldsEachForItsTime checks that of two similar gangs that are held, the second may have to wait less.
func TestHoldsEachForItsTime(t *testing.T) {
	const second = time.Second
	gangs := [2]trace.Job{whole(0, 36*second, 2), whole(33*second, 3*second, 2)}
	for i := range gangs {
		gangs[i].Model = "bert-large"
	}
	blocker := func(estimate time.Duration) trace.Job {
		j := whole(0, estimate, 2)
		j.Work = 500 * second
		return j
	}
	config := Default()
	config.Predictor, config.Tau = told{1}, 1
	jobs := named(blocker(30*second), blocker(33*second), gangs[0], gangs[1])
	l := run(t, sim.Config{Cluster: cluster.Uniform(2, 3)}, jobs, New("a-srpt", config), 1)
	// They enter the queue at 33 and 34 s, and the rule holds them for at most 36 and 3 s.
	const want = "10s start 1, 21s start 2, 37s start 4, 40s finish 4, 1m9s start 3, "
	if got := starts(l); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
