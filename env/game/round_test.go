package game_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// portray returns all of a round except its list, as text.
func portray(r *game.Round) string {
	return fmt.Sprintln(r.Observation, r.Coalition, r.Mask, r.Prior, *r.Spec())
}

// TestRoundsShowWhoMayDoWhat checks that, whatever is played, every round has the shape that its spec says, zeros beyond its jobs
// and candidates, and masks that follow from the coalitions. Show leaves no trace in the state, and fills a reused round like a
// fresh one.
func TestRoundsShowWhoMayDoWhat(t *testing.T) {
	shown := 0
	simtest.Many(t, 200, func(t *rapid.T) {
		c, e := drawGame(t), simtest.Draw(t)
		m := &match{}
		move := drawWander(t)
		m.act = func(tx *cluster.Txn, r *game.Round, joint []game.Action) {
			checkShape(t, r)
			checkMasks(t, r)
			before := simtest.Portray(tx.View())
			var fresh game.Round
			must.Do(t, m.game.Show(&fresh))
			if a, b := portray(r), portray(&fresh); a != b {
				t.Fatalf("a reused round shows\n%s\na fresh one\n%s", a, b)
			}
			if after := simtest.Portray(tx.View()); after != before {
				t.Fatalf("the state was\n%s\nand is\n%s", before, after)
			}
			shown++
			move(tx, r, joint)
		}
		m.play(t, c, e)
	})
	enough(t, "rounds", shown, 500)
}

func checkShape(t rapid.TB, r *game.Round) {
	s := r.Spec()
	if n := len(r.List); n < 2 || n > s.Candidates-1 || n != len(r.Of) || r.Prior < 1 || int(r.Prior) > n {
		t.Fatalf("%d candidates, of which %d point to jobs, prior %d, want 2 to %d", n, len(r.Of), r.Prior, s.Candidates-1)
	}
	for _, x := range []struct {
		name       string
		have, want int
	}{
		{"servers", len(r.Servers), s.Agents * len(s.Server)}, {"jobs", len(r.Jobs), s.Jobs * len(s.Job)},
		{"cluster", len(r.Global), len(s.Global)}, {"candidates", len(r.Candidates), s.Candidates * len(s.Candidate)},
		{"masks", len(r.Mask), s.Agents * s.Candidates},
	} {
		if x.have != x.want {
			t.Fatalf("%d numbers of %s, want %d", x.have, x.name, x.want)
		}
	}
	width := len(s.Candidate)
	for _, rows := range [][]float32{r.Jobs[len(r.Ids)*len(s.Job):], r.Candidates[:width], r.Candidates[(1+len(r.List))*width:]} {
		if slices.ContainsFunc(rows, func(x float32) bool { return x != 0 }) {
			t.Fatalf("rows of no job and of no candidate are %v", rows)
		}
	}
	for k := range r.List {
		if row := r.Candidates[(k+1)*width:]; row[r.List[k].Kind] != 1 { // the standard encoder's first features encode the kind
			t.Fatalf("row %d is %v, want that of %v", k+1, row[:width], r.List[k].Kind)
		}
	}
}

func checkMasks(t rapid.TB, r *game.Round) {
	s := r.Spec()
	for i := range s.Agents {
		mask := r.Legal(i)
		for n, may := range mask {
			member := n > 0 && n <= len(r.List) && slices.ContainsFunc(r.List[n-1].Members, func(m candidates.Member) bool {
				return int(m.Server) == i
			})
			if may != (n == 0 || member) {
				t.Fatalf("agent %d may name %d: %v, its coalition is %v", i, n, may, r.Members(game.Action(n)))
			}
		}
		if got, want := r.Server(i), r.Servers[i*len(s.Server):(i+1)*len(s.Server)]; !slices.Equal(got, want) {
			t.Fatalf("agent %d's row is %v, want %v", i, got, want)
		}
	}
	var all []game.Share
	for k := range r.List {
		n, sum, from := game.Action(k+1), 0.0, len(all)
		for _, m := range r.List[k].Members {
			all = append(all, game.Share{Candidate: n, Server: int32(m.Server), Weight: m.Weight})
			sum += float64(m.Weight)
		}
		if !slices.Equal(r.Members(n), all[from:]) {
			t.Fatalf("coalition of %d is %v, want %v", n, r.Members(n), all[from:])
		}
		if len(all) > from && math.Abs(sum-1) > 1e-5 {
			t.Fatalf("weights of %d sum to %v", n, sum)
		}
		joint := slices.Repeat([]game.Action{9}, s.Agents)
		r.Unanimous(n, joint)
		for i, a := range joint {
			if member := r.Legal(i)[n]; a != game.Pass && a != n || member != (a == n) {
				t.Fatalf("by name of %d, agent %d names %d", n, i, a)
			}
		}
	}
	if !slices.Equal(r.Coalition, all) {
		t.Fatalf("coalitions are %v, want %v", r.Coalition, all)
	}
	if len(r.Members(game.Pass)) > 0 || len(r.Members(game.Action(s.Candidates))) > 0 {
		t.Fatalf("servers take part in passing, %v, or in nothing", r.Members(game.Pass))
	}
}

// jobs returns gangs that arrive at the same time.
func jobs(workers ...int32) (all []trace.Job) {
	for i, n := range workers {
		work := time.Duration(i+1) * 10 * time.Minute
		all = append(all, trace.Job{Work: work, JobSpec: cluster.JobSpec{
			Name: fmt.Sprint(i), Estimate: work, Workers: n, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
		}})
	}
	return all
}

// opened returns a game with four servers at its first round.
func opened(t testing.TB, change ...func(*game.Config)) (*game.Game, *cluster.Txn) {
	t.Helper()
	c := about(t, "sjfskip")
	for _, f := range change {
		f(&c)
	}
	e := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(4, 4)}, Jobs: jobs(4, 2, 1, 7, 3, 16, 2)}
	tx, ok := simtest.Begin(t, &e).Next()
	g, err := game.New(c, 4)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	must.Do(t, g.Reset(1))
	if more, err := g.Begin(tx); !more || err != nil {
		t.Fatalf("a round: %v, %v", more, err)
	}
	return g, tx
}

// table is an encoder that returns parts of its own tables.
type table struct {
	spec                        observe.Spec
	servers, jobs, rows, global []float32
	ids                         []cluster.JobID
	of                          []int32
	change                      func(o *observe.Observation) // called on the observation at the end of Encode; may be nil
}

func newTable() *table {
	fill := func(from float32) []float32 {
		all := make([]float32, 400)
		for i := range all {
			all[i] = from + float32(i)
		}
		return all
	}
	one := []observe.Feature{{Name: "one"}}
	return &table{
		spec:    observe.Spec{Window: 2, Server: one, Job: make([]observe.Feature, 3), Candidate: make([]observe.Feature, 2), Global: one},
		servers: fill(1000), jobs: fill(2000), rows: fill(3000), global: fill(4000),
		ids: []cluster.JobID{5, 6, 7}, of: slices.Repeat([]int32{1}, 30),
	}
}

func (e *table) Spec() observe.Spec { return e.spec }

func (e *table) Encode(tx *cluster.Txn, list []candidates.Candidate, o *observe.Observation) error {
	o.Servers, o.Global, o.Candidates = e.servers[:tx.View().Servers()], e.global[:1], e.rows[:2*len(list)]
	o.Jobs, o.Ids, o.Of = e.jobs[:6], e.ids[:2], e.of[:len(list)]
	if e.change != nil {
		e.change(o)
	}
	return nil
}

// TestRowsElsewhereAreCopied checks that Show copies rows that an encoder does not write in place: it neither changes nor keeps
// the encoder's memory.
func TestRowsElsewhereAreCopied(t *testing.T) {
	e := newTable()
	g, _ := opened(t, func(c *game.Config) { c.Encoder = e })
	var r game.Round
	for range 2 {
		must.Do(t, g.Show(&r))
		n := len(r.List)
		if !slices.Equal(r.Servers, []float32{1000, 1001, 1002, 1003}) || !slices.Equal(r.Global, []float32{4000}) ||
			!slices.Equal(r.Candidates[2:2+2*n], e.rows[:2*n]) || r.Candidates[0] != 0 || !slices.Equal(r.Jobs[:6], e.jobs[:6]) ||
			!slices.Equal(r.Ids, []cluster.JobID{5, 6}) || len(r.Of) != n {
			t.Fatalf("the encoder's rows are shown as %+v", r.Observation)
		}
		if len(r.Jobs) != 3*r.Spec().Jobs || len(r.Candidates) != 2*r.Spec().Candidates {
			t.Fatalf("%d numbers of jobs and %d of candidates", len(r.Jobs), len(r.Candidates))
		}
	}
	if want := newTable(); !slices.Equal(e.jobs, want.jobs) || !slices.Equal(e.rows, want.rows) || !slices.Equal(e.servers, want.servers) {
		t.Errorf("the encoder's own tables have become %v, %v and %v", e.jobs, e.rows, e.servers)
	}
	before := portray(&r)
	for _, rows := range [][]float32{e.servers, e.jobs, e.rows, e.global} {
		clear(rows)
	}
	clear(e.ids)
	clear(e.of)
	if after := portray(&r); after != before {
		t.Errorf("the round was\n%s\nand has become\n%s", before, after)
	}
}

func TestRowsOfTheWrongSizeAreErrors(t *testing.T) {
	for _, c := range []struct {
		says   string
		change func(o *observe.Observation)
	}{
		{"a server too few", func(o *observe.Observation) { o.Servers = o.Servers[:3] }},
		{"a candidate too many", func(o *observe.Observation) {
			o.Candidates = append(slices.Clip(o.Candidates), 1, 1)
		}},
		{"half a candidate", func(o *observe.Observation) { o.Candidates = o.Candidates[:len(o.Candidates)-1] }},
		{"no candidates", func(o *observe.Observation) { o.Candidates = nil }},
		{"jobs without names", func(o *observe.Observation) { o.Ids = o.Ids[:1] }},
		{"more jobs than there is room for", func(o *observe.Observation) {
			o.Ids, o.Jobs = make([]cluster.JobID, 50), make([]float32, 150)
		}},
		{"a cluster too wide", func(o *observe.Observation) { o.Global = make([]float32, 2) }},
		{"a candidate that points nowhere", func(o *observe.Observation) { o.Of = o.Of[1:] }},
	} {
		t.Run(c.says, func(t *testing.T) {
			e := newTable()
			g, _ := opened(t, func(config *game.Config) { config.Encoder = e })
			var r game.Round
			e.change = c.change
			if err := g.Show(&r); err == nil || !strings.Contains(err.Error(), "show round: the encoder fills") {
				t.Errorf("error %v, want one about what the encoder fills", err)
			}
			e.change = nil
			if err := g.Show(&r); err != nil {
				t.Errorf("error %v afterwards", err)
			}
		})
	}
}

// TestCopiesShareNoMemory checks that a copy equals the round and stays as it is when the round changes, and that copying
// allocates nothing once the copy has room.
func TestCopiesShareNoMemory(t *testing.T) {
	g, _ := opened(t)
	var r, c game.Round
	must.Do(t, g.Show(&r))
	c.CopyFrom(&r)
	if n := testing.AllocsPerRun(10, func() { c.CopyFrom(&r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	want := portray(&r)
	if got := portray(&c); got != want {
		t.Errorf("the copy is\n%s\nwant\n%s", got, want)
	}
	draw := rand.New(rand.NewPCG(1, 1))
	for _, rows := range [][]float32{r.Servers, r.Jobs, r.Global, r.Candidates} {
		for i := range rows {
			rows[i] = draw.Float32()
		}
	}
	for i := range r.Mask {
		r.Mask[i] = !r.Mask[i]
	}
	clear(r.Ids)
	clear(r.Of)
	clear(r.Coalition)
	r.Prior = 9
	if len(r.Ids) == 0 || len(r.Of) == 0 || len(r.Coalition) == 0 || portray(&r) == want {
		t.Fatalf("the round has nothing to change: %v", r)
	}
	if got := portray(&c); got != want {
		t.Errorf("the copy has become\n%s\nwas\n%s", got, want)
	}
}

// TestTheEndLeavesPassing checks that at the end of an episode agents can only pass, and observe the last state without
// candidates.
func TestTheEndLeavesPassing(t *testing.T) {
	g, tx := opened(t)
	for _, shown := range []bool{false, true} {
		var r game.Round
		if shown {
			must.Do(t, g.Show(&r))
		}
		servers := slices.Clone(r.Servers)
		must.Do(t, g.End(tx, &r))
		s := g.Spec()
		if len(r.List)+len(r.Coalition)+len(r.Of) > 0 || r.Prior != game.Pass || len(r.Candidates) != s.Candidates*len(s.Candidate) ||
			slices.ContainsFunc(r.Candidates, func(x float32) bool { return x != 0 }) {
			t.Errorf("there are candidates: %v, %v", r.Coalition, r.Candidates)
		}
		if len(r.Servers) != s.Agents*len(s.Server) || len(r.Jobs) != s.Jobs*len(s.Job) || len(r.Global) != len(s.Global) {
			t.Errorf("%d, %d and %d numbers of servers, jobs and the cluster", len(r.Servers), len(r.Jobs), len(r.Global))
		}
		if shown && !slices.Equal(servers, r.Servers) {
			t.Errorf("servers are %v, were %v", r.Servers, servers)
		}
		for i := range s.Agents {
			if mask := r.Legal(i); !mask[game.Pass] || slices.Contains(mask[1:], true) {
				t.Errorf("agent %d may do %v", i, mask)
			}
		}
	}
}
