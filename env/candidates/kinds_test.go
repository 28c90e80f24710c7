package candidates_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
)

// script returns a judge that takes the first candidate of each kind in turn, once, and otherwise the base's own. left contains
// the kinds that it has not taken yet.
func script(kinds ...candidates.Kind) (j *judge, left *[]candidates.Kind) {
	left = &kinds
	return &judge{choose: func(_ *cluster.Txn, list []candidates.Candidate) (int, error) {
		if len(*left) == 0 {
			return 0, nil
		}
		i := slices.IndexFunc(list, func(o candidates.Candidate) bool { return o.Kind == (*left)[0] })
		if i < 0 {
			return 0, nil
		}
		*left = (*left)[1:]
		return i, nil
	}}, left
}

func elastic(j trace.Job, least, most int32) trace.Job {
	j.MinWorkers, j.MaxWorkers = least, most
	return j
}

func share(j trace.Job, milli int32) trace.Job {
	j.Request.GPUMilli = milli
	return j
}

func TestWhatComesOfACandidate(t *testing.T) {
	one := func(gpus int) sim.Config { return sim.Config{Cluster: cluster.Uniform(1, gpus)} }
	two := func(gpus int) sim.Config {
		return sim.Config{
			Cluster: cluster.Uniform(2, gpus), Physics: physics.Compose(physics.InterServer{Penalty: 0.5}),
			Restart: sim.Pause(5 * time.Second),
		}
	}
	shared := func(gpus int) sim.Config {
		return sim.Config{Cluster: cluster.Uniform(1, gpus), Physics: physics.Compose(physics.Sharing{Strength: 0.3})}
	}
	menu := func(c *candidates.Config) { c.Menu = true }
	for _, c := range []struct {
		says   string
		base   string
		change func(*candidates.Config)
		sim.Config
		jobs []trace.Job
		take []candidates.Kind
		want string // what happens with the candidates, from the first difference to the base alone on
	}{
		{
			says: "a guest shares the GPU of its host",
			base: "sjfskip", change: menu, Config: shared(2), take: []candidates.Kind{candidates.Packed},
			jobs: []trace.Job{share(gang("host", 0, 300, 1), 600), gang("gang", 5, 1000, 2), gang("guest", 10, 100, 1)},
			want: "10s start guest 0:[0]/400, 1m50s finish guest, 5m0s finish host, 5m0s start gang 0:[0,1], " +
				"21m40s finish gang",
		},
		{
			says: "a job gets a GPU of its own",
			base: "sjfskip", change: menu, Config: shared(2), take: []candidates.Kind{candidates.Alone},
			jobs: []trace.Job{share(gang("host", 0, 300, 1), 500), gang("gang", 5, 1000, 2), share(gang("guest", 10, 100, 1), 500)},
			want: "10s start guest 0:[1]/501, 1m50s finish guest, 5m0s finish host, 5m0s start gang 0:[0,1], " +
				"21m40s finish gang",
		},
		{
			says: "a job joins those that end with it",
			base: "sjfskip", Config: two(3), take: []candidates.Kind{candidates.Aligned},
			jobs: []trace.Job{gang("long", 0, 1000, 2), gang("short", 0, 100, 2), gang("whole", 5, 3000, 6), gang("mate", 10, 900, 1)},
			want: "10s start mate 1:[2], 1m40s finish short, 15m10s finish mate, 16m40s finish long, " +
				"16m40s start whole 0:[0,1,2] 1:[0,1,2], 1h6m40s finish whole",
		},
		{
			says: "an elastic job starts with its fewest workers",
			base: "sjfskip", change: menu, Config: shared(4), take: []candidates.Kind{candidates.Sized},
			jobs: []trace.Job{gang("other", 0, 1000, 1), gang("whole", 5, 2000, 4), elastic(gang("elastic", 10, 100, 2), 1, 2)},
			want: "10s start elastic 0:[1]/501, 3m30s finish elastic, 16m40s finish other, " +
				"16m40s start whole 0:[0,1,2,3], 50m0s finish whole",
		},
		{
			says: "another job starts first",
			base: "sjf", Config: one(4), take: []candidates.Kind{candidates.First},
			jobs: []trace.Job{gang("first", 0, 60, 4), gang("gang", 10, 100, 4), gang("small", 20, 1000, 2)},
			want: "1m0s start small 0:[0,1], 17m40s finish small, 17m40s start gang 0:[0,1,2,3], " +
				"19m20s finish gang",
		},
		{
			says: "a job starts that the base would keep behind a gang",
			base: "fifo", Config: one(4), take: []candidates.Kind{candidates.Begin},
			jobs: []trace.Job{gang("first", 0, 60, 2), gang("gang", 10, 100, 4), gang("small", 20, 1000, 1)},
			want: "20s start small 0:[2], 1m0s finish first, 17m0s finish small, 17m0s start gang 0:[0,1,2,3], " +
				"18m40s finish gang",
		},
		{
			says: "one of two jobs waits until something happens",
			base: "sjfskip", Config: one(4), take: []candidates.Kind{candidates.Wait},
			jobs: []trace.Job{gang("first", 0, 60, 2), gang("gang", 10, 2000, 4), gang("b", 20, 100, 1), gang("c", 20, 200, 1)},
			want: "20s start c 0:[2], 1m0s finish first, 1m0s start b 0:[0], 2m40s finish b, 3m40s finish c, " +
				"3m40s start gang 0:[0,1,2,3], 5m20s call, 37m0s finish gang",
		},
		{
			says: "nobody starts until something happens",
			base: "sjfskip", Config: one(4), take: []candidates.Kind{candidates.Stop},
			jobs: []trace.Job{gang("first", 0, 60, 2), gang("gang", 10, 2000, 4), gang("b", 20, 100, 1), gang("c", 20, 200, 1)},
			want: "1m0s finish first, 1m0s start b 0:[0], 1m0s start c 0:[1], 2m40s finish b, 4m20s finish c, " +
				"4m20s start gang 0:[0,1,2,3], 5m20s call, 37m40s finish gang",
		},
		{
			says: "nobody starts, and is called again although nothing happens",
			base: "sjfskip", Config: one(4), take: []candidates.Kind{candidates.Stop},
			jobs: []trace.Job{gang("first", 0, 600, 2), gang("gang", 10, 2000, 4), gang("b", 20, 100, 1)},
			want: "5m20s start b 0:[2], 7m0s finish b, 10m0s finish first, 10m0s start gang 0:[0,1,2,3], " +
				"43m20s finish gang",
		},
		{
			says: "servers are held for a gang against a longer job, not against a shorter one",
			base: "sjfskip", Config: one(4), take: []candidates.Kind{candidates.Reserve},
			jobs: []trace.Job{gang("first", 0, 60, 2), gang("gang", 10, 100, 4), gang("long", 20, 1000, 2), gang("short", 21, 30, 1)},
			want: "21s start short 0:[2], 51s finish short, 1m0s finish first, 1m0s start gang 0:[0,1,2,3], " +
				"2m40s finish gang, 2m40s start long 0:[0,1], 5m20s call, 19m20s finish long",
		},
		{
			says: "a gang waits to stand on one server",
			base: "sjfskip", Config: two(4), take: []candidates.Kind{candidates.Gather},
			jobs: []trace.Job{gang("a", 0, 30, 2), gang("b", 0, 60, 3), gang("gang", 10, 100, 3)},
			want: "30s finish a, 30s start gang 0:[0,1,2], 1m0s finish b, 2m10s finish gang",
		},
		{
			says: "a block is held, and given up for a job that it would not keep",
			base: "sjfskip", Config: one(4), take: []candidates.Kind{candidates.Reserve, candidates.Drop},
			jobs: []trace.Job{gang("first", 0, 60, 2), gang("gang", 10, 500, 4), gang("long", 20, 1000, 2), gang("short", 21, 30, 1)},
			want: "21s start short 0:[2], 51s finish short, 51s start long 0:[2,3], 1m0s finish first, " +
				"5m20s call, 17m31s finish long, 17m31s start gang 0:[0,1,2,3], 25m51s finish gang",
		},
		{
			says: "nobody is preempted for as long as one may be held",
			base: "srtf", change: func(c *candidates.Config) { c.Hold = 8 * time.Minute }, Config: one(2), take: []candidates.Kind{candidates.Veto},
			jobs: []trace.Job{gang("long", 0, 10_000, 2), gang("short", 10, 100, 1)},
			want: "5m10s call, 8m10s preempt long, 8m10s start short 0:[0], 9m50s finish short, " +
				"9m50s start long 0:[0,1], 2h48m20s finish long",
		},
		{
			says: "nobody is preempted, and who fits without starts",
			base: "srtf", change: func(c *candidates.Config) { c.Hold = 8 * time.Minute }, Config: one(4), take: []candidates.Kind{candidates.Veto},
			jobs: []trace.Job{gang("long", 0, 1000, 3), gang("a", 10, 100, 1), gang("b", 10, 200, 1)},
			want: "10s start a 0:[3], 1m50s finish a, 1m50s start b 0:[3], 5m10s finish b, 16m40s finish long",
		},
		{
			says: "a running job gets more workers",
			base: "srsf+menu", Config: one(4), take: []candidates.Kind{candidates.Grow},
			jobs: []trace.Job{gang("first", 0, 30, 3), elastic(gang("elastic", 0, 100, 1), 1, 2)},
			want: "30s resize elastic 0:[0,1], 1m5s finish elastic",
		},
		{
			says: "a scattered gang moves to one server",
			base: "sjfskip", Config: two(2), take: []candidates.Kind{candidates.Move},
			jobs: []trace.Job{gang("a", 0, 30, 1), gang("b", 0, 60, 1), gang("c", 0, 1000, 1), gang("gang", 40, 100, 2)},
			want: "1m0s migrate gang 0:[0,1], 2m29s finish gang, 16m40s finish c",
		},
		{
			says: "a running job is stopped for a shorter one",
			base: "sjfskip", Config: one(2), take: []candidates.Kind{candidates.Preempt},
			jobs: []trace.Job{gang("long", 0, 1000, 2), gang("short", 10, 100, 1)},
			want: "10s preempt long, 10s start short 0:[0], 1m50s finish short, 1m50s start long 0:[0,1], " +
				"18m20s finish long",
		},
	} {
		t.Run(c.says, func(t *testing.T) {
			change := func(r *candidates.Config) {
				if c.change != nil {
					c.change(r)
				}
			}
			e := sim.Episode{Config: c.Config, Jobs: c.jobs}
			lines := func(j candidates.Judge) []string {
				d := &diary{Scheduler: candidates.New("reviewed", usual(t, c.base, change), j), calls: true}
				simtest.End(t, simtest.Begin(t, &e), d)
				return d.lines
			}
			j, left := script(slices.Clone(c.take)...)
			got, alone := lines(j), lines(&judge{})
			if len(*left) > 0 {
				t.Fatalf("no candidate to take of %v", *left)
			}
			same := 0
			for same < min(len(got), len(alone)) && got[same] == alone[same] {
				same++
			}
			if text := strings.Join(got[same:], ", "); text != c.want {
				t.Errorf("with %v\n%s, want\n%s, alone\n%s", c.take, text, c.want, strings.Join(alone[same:], ", "))
			}
		})
	}
}

// TestNobodyIsOvertakenForEver checks that no job starts ahead of the base's order any more once one that waits has done so for
// more than a day.
func TestNobodyIsOvertakenForEver(t *testing.T) {
	const day = 24 * 60 * 60
	for _, c := range []struct {
		free time.Duration // when the GPUs come free, in seconds
		want bool
	}{{day + 20, true}, {day + 21, false}} {
		jobs := []trace.Job{gang("first", 0, c.free, 4), gang("gang", 10, 100, 4), gang("small", 20, 1000, 2)}
		offered := false
		watch := &judge{choose: func(_ *cluster.Txn, list []candidates.Candidate) (int, error) {
			offered = offered || slices.ContainsFunc(list, func(o candidates.Candidate) bool { return o.Kind == candidates.First })
			return 0, nil
		}}
		e := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(1, 4)}, Jobs: jobs}
		simtest.End(t, simtest.Begin(t, &e), candidates.New("watched", usual(t, "sjf"), watch))
		if offered != c.want {
			t.Errorf("small could start first after %d s: %v, want %v", c.free-20, offered, c.want)
		}
	}
}
