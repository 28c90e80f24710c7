package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

func played(t *testing.T, in string, more ...string) said {
	t.Helper()
	return commandWith(t.Context(), in, append([]string{"env", "play", "-s", "embedded-small-v1"}, more...)...)
}

// lines parses the rounds that env play prints as JSON.
func lines(t *testing.T, s said) (all []playRound) {
	t.Helper()
	if s.code != cmdline.CodeOK {
		t.Fatalf("exit code %d\n%s", s.code, s.talk)
	}
	for line := range strings.Lines(s.out) {
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		var r playRound
		if err := d.Decode(&r); err != nil || !strings.HasSuffix(line, "}\n") {
			t.Fatalf("%q is no line of JSON: %v", line, err)
		}
		all = append(all, r)
	}
	return all
}

// TestRoundsAreWatchedAndChosenByHand checks that an empty line plays what the policy names, and a number plays that candidate.
func TestRoundsAreWatchedAndChosenByHand(t *testing.T) {
	s := played(t, "\n2\n", "--ask", "--rounds", "2")
	if s.code != cmdline.CodeOK {
		t.Fatalf("exit code %d\n%s", s.code, s.talk)
	}
	const want = `embedded-small-v1, train, seed 1: prior plays on 8 servers, the prior is srsf+menu+move

round 1 at 25h8m58s: 1 waiting, 5 running, 30 of 64 GPUs free
      kind         bid  servers   what it does
>  1  own   prior       1-2, 5-6  stop 171; start 205: 32 workers (32 GPUs) on server-1 and 3 more
   2  veto              1-2       stop nobody
prior names 1 by 1-2, 5-6
carried out: 1
2.8min later, reward -0.2783
  preempt 171
  start 205 server-1 and 3 more
  submit 206

round 2 at 25h11m45s: 2 waiting, 5 running, 14 of 64 GPUs free
      kind         bid  servers  what it does
>  1  own   prior       0        start 206: 1 worker (1 GPU) on server-0
   2  stop              0        start nobody now, for about 2.5min
hand names 2 by 0
carried out: 2
23s later, reward -0.04472
  submit 207

stopped at 25h12m8s after 2 rounds, reward -0.3231 in all: 3 waiting, 5 running
`
	if s.out != want {
		t.Errorf("got\n%s\nwant\n%s", s.out, want)
	}
	if n := strings.Count(s.talk, "what to name (? for help): "); n != 2 {
		t.Errorf("asked %d times, want 2: %q", n, s.talk)
	}
	if quiet := played(t, "\n2\n", "--ask", "--rounds", "2", "-q"); quiet.out != want || quiet.talk != "" {
		t.Errorf("quiet: %q, %q", quiet.out, quiet.talk)
	}
	if plain := played(t, "2\n2\n", "--rounds", "2"); strings.Contains(plain.out+plain.talk, "hand") || plain.talk != "" {
		t.Errorf("standard input is no terminal, and is read: %q %q", plain.out, plain.talk)
	}
}

// TestWrongAnswersAreAskedAgain checks that an invalid answer prints the valid ones and asks again, and that no round is played
// meanwhile.
func TestWrongAnswersAreAskedAgain(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{"9", `"9": want one of 1-2, 0 to pass`}, {"-1", "want one of 1-2"}, {"99999999999999999999", "want one of 1-2"},
		{"veto", `"veto": want one of`}, {"s", `"s": want one of`}, {"s 0", "how many rounds to skip, such as s 10"},
		{"?", "let the policy play N rounds"},
	} {
		s := played(t, c.answer+"\n2\n", "--ask", "--rounds", "1")
		if s.code != cmdline.CodeOK || !strings.Contains(s.talk, c.want) || strings.Count(s.talk, "what to name") != 2 {
			t.Errorf("%q: exit code %d, want %q in\n%s", c.answer, s.code, c.want, s.talk)
		}
		if !strings.Contains(s.out, "hand names 2 by 1-2\n") || strings.Count(s.out, "\nround ") != 1 {
			t.Errorf("%q: then 2 is not played, or another round is:\n%s", c.answer, s.out)
		}
	}
}

// TestRoundsAreSkipped checks that the policy plays skipped rounds: the later rounds equal those of an episode watched from the
// start.
func TestRoundsAreSkipped(t *testing.T) {
	for _, policy := range []string{"prior", "random"} {
		whole := lines(t, played(t, "", "--json", "--policy", policy))
		if len(whole) < 12 {
			t.Fatalf("%d rounds", len(whole))
		}
		for _, r := range whole[:len(whole)-1] {
			if r.Terminated || r.Truncated != "" {
				t.Errorf("round %d of %d says that the episode is over", r.Round, len(whole))
			}
		}
		if last := whole[len(whole)-1]; !last.Terminated {
			t.Errorf("the last round does not say that the episode is over: %+v", last)
		}
		is := func(how string, got []playRound, want ...playRound) {
			t.Helper()
			if a, b := fmt.Sprint(got), fmt.Sprint(want); a != b || len(got) == 0 {
				t.Errorf("%s, %s:\n%s\nwant\n%s", policy, how, a, b)
			}
		}
		is("--skip", lines(t, played(t, "", "--json", "--policy", policy, "--skip", "7", "--rounds", "2")), whole[7:9]...)
		is("s", lines(t, played(t, "\ns 4\n\nq\n", "--json", "--policy", policy, "--ask")), whole[0], whole[5])
		s := played(t, "", "--policy", policy, "--skip", "100000")
		contains(t, strings.Join(strings.Fields(s.out), " "), fmt.Sprintf("%d rounds skipped, until ", len(whole)), "the episode ends at ", "every job has finished")
	}
}

// TestLinesOfJSONTellOfARound checks that every named number is carried out or refused and is named only by servers of its
// coalition, and that passing and refusals occur.
func TestLinesOfJSONTellOfARound(t *testing.T) {
	s := played(t, "", "--json", "--policy", "random")
	if s.talk != "" || s.out != played(t, "", "--json", "--policy", "random").out {
		t.Errorf("not the same again, or there is talk: %q", s.talk)
	}
	line, _, _ := strings.Cut(s.out, "\n")
	if got, want := keys(t, line), []string{"by", "candidates", "carried_out", "changes", "elapsed_s", "free_gpus", "gpus", "named", "now_s",
		"prior", "refused", "reward", "round", "running", "waiting"}; !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
	refused, passed, started := 0, 0, 0
	for _, r := range lines(t, s) {
		var done []int
		for _, n := range r.Carried {
			done = append(done, int(n))
		}
		for _, x := range r.Refused {
			refused++
			done = append(done, int(x.Number))
			if x.Reason == "" {
				t.Errorf("round %d: %d is refused without a reason", r.Round, x.Number)
			}
		}
		for _, n := range r.Named {
			if !slices.Contains(done, int(n.Number)) {
				t.Errorf("round %d: %d is named, and neither carried out nor refused", r.Round, n.Number)
			}
			for _, agent := range n.Agents {
				if !slices.ContainsFunc(r.Candidates[n.Number-1].Coalition, func(m playMember) bool { return int(m.Agent) == agent }) {
					t.Errorf("round %d: %d names %d, and takes no part in it", r.Round, agent, n.Number)
				}
			}
		}
		if len(r.Named) == 0 {
			passed++
		}
		for i, c := range r.Candidates {
			if int(c.Number) != i+1 || c.Kind == "" || c.Does == "" || c.Bid != nil {
				t.Errorf("round %d: candidate %+v", r.Round, c)
			}
		}
		for _, c := range r.Changes {
			if c.At < r.Now || c.At > r.Now+r.Elapsed {
				t.Errorf("round %d from %v for %v: change %+v", r.Round, r.Now, r.Elapsed, c)
			}
			if c.What == "start" {
				started++
			}
		}
	}
	if refused < 3 || passed < 3 || started < 30 {
		t.Errorf("%d refused, %d passed, %d started: too few to test", refused, passed, started)
	}
	contains(t, played(t, "", "--policy", "random").out, "refused 1: a server of its coalition did not name it", "carried out: none\n",
		"random names nothing: all servers pass")
}

// TestBidsAreShown checks that a learned policy names the candidate with the highest bid, or the prior's choice if no bid exceeds
// it by more than the margin.
func TestBidsAreShown(t *testing.T) {
	args := []string{"env", "play", "-s", "embedded-physics-v1", "--policy", "released", "--rounds", "40"}
	rounds := lines(t, must(t, append(args, "--json")...))
	more := 0
	for _, r := range rounds {
		if len(r.Candidates) > 2 {
			more++
		}
		best := 0
		for i, c := range r.Candidates {
			if c.Bid == nil {
				t.Fatalf("round %d: no bid for %d", r.Round, c.Number)
			}
			if *c.Bid > *r.Candidates[best].Bid {
				best = i
			}
		}
		named := r.Prior // a prior's choice that starts no job is named by no server
		if len(r.Named) > 0 {
			named = r.Named[0].Number
		}
		if named != r.Prior && int(named) != best+1 || len(r.Named) > 1 {
			t.Errorf("round %d: names %v, the prior would %d, the highest bid is for %d", r.Round, r.Named, r.Prior, best+1)
		}
	}
	if more < 10 {
		t.Errorf("%d rounds with more than two candidates", more)
	}
	contains(t, must(t, args...).out, " bid ", "released plays on 8 servers", "departs from the prior where another bid is more than")
	if n, m := len(rounds), len(lines(t, must(t, append(args, "--json", "--agree", "lead")...))); n != 40 || m != 40 {
		t.Errorf("%d and %d rounds, want 40", n, m)
	}
}

// TestNamesOfJobsAreHarmless checks that, whatever the names of jobs, a line contains nothing that acts on a terminal.
func TestNamesOfJobsAreHarmless(t *testing.T) {
	var trace strings.Builder
	trace.WriteString("job_id,num_gpu,submit_time,duration\n")
	for i := range 60 {
		fmt.Fprintf(&trace, "%d \u200b\u2060%s,%d,%d,%d\n", i, strings.Repeat("long ", i%40)+strings.Repeat("x", i), 1<<(i%5), i, 100+i)
	}
	args := []string{"env", "play", "-s", "embedded-small-v1", "--set", "workload.trace=" + file(t, "names.csv", trace.String()),
		"--set", "workload.jobs=0", "--set", "workload.load=0", "--set", "window.arrivals=60",
		"--set", "window.train=[0, 1]", "--set", "window.validation=[]", "--set", "window.test=[]"}
	calm(t, args, must(t, args...))
}

// TestABaselinePlays checks that --policy with a baseline plays as --prior with it.
func TestABaselinePlays(t *testing.T) {
	by := func(flag string) string {
		return must(t, "env", "play", "-s", "embedded-small-v1", "--rounds", "5", flag, "fifo").out
	}
	if by("--policy") != by("--prior") {
		t.Errorf("--policy fifo prints\n%s\n--prior fifo prints\n%s", by("--policy"), by("--prior"))
	}
	if by("--policy") == must(t, "env", "play", "-s", "embedded-small-v1", "--rounds", "5").out {
		t.Error("fifo plays as the prior of env play does")
	}
}

func TestWhatCannotBePlayedIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"--policy", "fifo", "--prior", "sjf"}, cmdline.CodeUsage, []string{"--policy fifo --prior sjf", "one of the two flags"}},
		{[]string{"--policy", "relased"}, cmdline.CodeUsage, []string{`did you mean "released"?`}},
		{[]string{"--policy", "runs/none"}, cmdline.CodeNoRun, []string{"runs/none"}},
		{[]string{"--policy", "released", "--prior", "fifo"}, cmdline.CodeUsage, []string{"--prior does not go with --policy released"}},
		{[]string{"--policy", "released", "--window", "9"}, cmdline.CodeUsage, []string{"--window does not go with --policy released"}},
		{[]string{"--policy", "released+loan"}, cmdline.CodeUsage, []string{"released+loan", "without +loan"}},
		{[]string{"--policy", "released+know:by=mean"}, cmdline.CodeUsage, []string{"want it without +know:by=mean"}},
		{[]string{"--policy", "released", "--agree", "led"}, cmdline.CodeUsage, []string{`did you mean "lead"?`}},
		{[]string{"--prior", "fof"}, cmdline.CodeUsage, []string{"fof"}},
		{[]string{"--skip", "-1"}, cmdline.CodeUsage, []string{"--skip -1"}},
		{[]string{"--rounds", "-1"}, cmdline.CodeUsage, []string{"--rounds -1"}},
		{[]string{"--split", "tset"}, cmdline.CodeUsage, []string{`did you mean "test"?`}},
	} {
		s := played(t, "", c.args...)
		if s.code != c.code || s.out != "" {
			t.Errorf("%v: exit code %d, want %d; result %q", c.args, s.code, c.code, s.out)
		}
		contains(t, s.talk, c.want...)
	}
}

// TestAnInterruptEndsWatching checks that an interrupt ends the command at once: before a round, and while it waits for an answer.
func TestAnInterruptEndsWatching(t *testing.T) {
	for _, how := range [][]string{{}, {"--skip", "9"}, {"--ask"}} {
		ctx, cancel := context.WithCancel(t.Context())
		in, hold := io.Pipe() // an open input without data
		var talk bytes.Buffer
		out := &stopping{stop: cancel}
		if len(how) == 0 || how[0] == "--skip" {
			cancel()
		}
		code := run(ctx, cmdline.New(in, out, &talk), append([]string{"env", "play", "-s", "embedded-small-v1"}, how...))
		if code != cmdline.CodeInterrupted || !strings.Contains(talk.String(), "interrupted") {
			t.Errorf("%v: exit code %d, want %d\n%s", how, code, cmdline.CodeInterrupted, talk.String())
		}
		cancel()
		hold.Close()
	}
}

// stopping is an output that calls stop after a round is drawn.
type stopping struct {
	bytes.Buffer
	stop func()
}

func (w *stopping) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("own")) {
		w.stop()
	}
	return w.Buffer.Write(b)
}
