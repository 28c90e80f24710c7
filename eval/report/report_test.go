package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/internal/must"
)

// generatedReport returns a report on three policies on windows of generated jobs, with every optional part.
func generatedReport(tb testing.TB, windows, jobs int) *Report {
	tb.Helper()
	s := section(tb, "generated-v1", windows, jobs, 16, "sjfskip", "srtf", "fifo")
	s.Differs = []Difference{{
		Above: "srtf", Below: "sjfskip", At: 30 * time.Hour, Job: "217",
		What: []string{"srtf preempts job 217 on server-0:0-7", "sjfskip lets it run"},
		Why:  []string{"job 218 has 12 min left, job 217 has 6 h"},
	}}
	s.Weighed = []Weighed{{Policy: "sjfskip", At: 2 * time.Hour, Choice: explain.Choice{Candidates: []explain.Candidate{
		{Number: 1, Does: "start 218 on server-5", Servers: []string{"server-5"}, Bid: 0.5, Payoff: -0.25, Total: 0.5, Prior: true},
		{Number: 2, Does: "start nobody", Servers: []string{"server-5", "server-6"}, Bid: 2, Payoff: 0.75, Margin: 1, Total: 1, Taken: true,
			Edges: []explain.Edge{{From: "server-5", To: "server-6", Payoff: 0.5}, {From: "server-6", To: "server-6", Payoff: -0.125}}},
		{Number: 3, Does: "start 217", Masked: true},
	}}}}
	learned := Curve{Policy: "learned"}
	for i := range 100 {
		learned.Update = append(learned.Update, i)
		learned.Train = append(learned.Train, 0.8+0.3/(1+float64(i)/20)+0.01*float64(i%7))
		if i%10 == 0 {
			learned.Validation = append(learned.Validation, Point{i, 0.79 + 0.25/(1+float64(i)/20)})
		}
	}
	return &Report{
		Title: "generated-v1", Version: "v0.0.0", Command: "clustergym eval --scenario generated-v1 --policies sjfskip,srtf,fifo",
		Sections: []Section{s}, Curves: []Curve{learned}, Notes: []string{"These jobs are generated."},
	}
}

func write(tb testing.TB, r *Report) []byte {
	tb.Helper()
	var b bytes.Buffer
	must.Do(tb, r.Write(&b))
	return b.Bytes()
}

func TestEqualReportsAreEqualBytes(t *testing.T) {
	first, second := write(t, generatedReport(t, 2, 300)), write(t, generatedReport(t, 2, 300))
	if !bytes.Equal(first, second) {
		t.Errorf("%d and %d bytes that differ", len(first), len(second))
	}
}

// TestPageNeedsNothingElse checks that the page refers to no other file and no host, and that it contains the data passed to it.
func TestPageNeedsNothingElse(t *testing.T) {
	page := string(write(t, generatedReport(t, 2, 300)))
	body := strings.ReplaceAll(page, "http://www.w3.org/2000/svg", "")
	for _, foreign := range []string{"http:", "https:", " src=", "url(", "@import", "ZgotmplZ", "import(", "fetch("} {
		if strings.Contains(body, foreign) {
			t.Errorf("the page holds %q", foreign)
		}
	}
	for _, want := range []string{"default-src &#39;none&#39;", "default-src 'none'"} {
		if strings.Contains(page, want) {
			return
		}
	}
	t.Error("the page has no policy that forbids the network")
}

// attack is a text that tries to become markup; hostileReport contains it in every text.
const attack = `</script></style></title><img src=x onerror="document.title='broken'">` + "`'\"&\u2028"

func hostileReport(tb testing.TB) *Report {
	tb.Helper()
	log := shares(tb)
	log.Scheduler = attack
	for i := range log.Jobs {
		j := &log.Jobs[i]
		j.Name, j.User, j.Tenant, j.Model, j.GPUType = attack+j.Name, attack, attack, attack, attack
	}
	for i := range log.Config.Cluster.Servers {
		log.Config.Cluster.Servers[i].Name = attack
	}
	below := *log
	below.Scheduler = attack + "2"
	var s Section
	for _, l := range []*sim.Log{log, &below} {
		for _, window := range []string{attack, attack + "2"} {
			s.Results = append(s.Results, result(l, attack, window, l.Scheduler))
			s.Results[len(s.Results)-1].Truncated = attack
		}
	}
	costing(&s, attack, map[string][2]float64{attack: {1, 2}, attack + "2": {3, 4}})
	s.compare(tb, attack)
	s.Schedules = []*sim.Log{log, &below}
	s.Shown = eval.Case{Window: attack}
	s.Differs = []Difference{{attack, attack + "2", time.Minute, log.Jobs[3].Name, []string{attack}, []string{attack}}}
	return &Report{
		Title: attack, Version: attack, Command: attack, Sections: []Section{s}, Notes: []string{attack},
		Curves: []Curve{{Policy: attack, Update: []int{0, 1}, Train: []float64{1, 0.9}}},
	}
}

// TestPageShowsWhatWasWeighed checks that the page shows the bids, the edges and what is masked.
func TestPageShowsWhatWasWeighed(t *testing.T) {
	page := string(write(t, generatedReport(t, 1, 50)))
	for _, want := range []string{
		"What sjfskip weighed at 2h0m0s", "<small>of the prior</small></th><td>0.500</td><td>−0.250</td>", "<small>taken</small></th><td>2.000</td>",
		"server-5 with server-6 &#43;0.5000; server-6 alone −0.1250", "1 more were masked",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "start 217<") {
		t.Error("the page shows a candidate that nobody may name")
	}
}

func TestHostileTextStaysText(t *testing.T) {
	page := string(write(t, hostileReport(t)))
	if strings.Contains(page, "<img") || strings.Contains(page, "onerror=\"") {
		t.Error("an attack became markup")
	}
	if n := strings.Count(page, "</script>"); n != 3 { // the figures, the script and one pack
		t.Errorf("%d script elements end, want 3", n)
	}
}

// TestPagesWithoutSomeParts checks that the page can be written without any one of its parts.
func TestPagesWithoutSomeParts(t *testing.T) {
	full := generatedReport(t, 1, 200)
	bare := full.Sections[0]
	bare.Schedules, bare.Results, bare.Differs = nil, nil, nil
	for name, r := range map[string]*Report{
		"nothing":      {},
		"only curves":  {Curves: full.Curves},
		"bare section": {Sections: []Section{bare}},
		"empty curve":  {Curves: []Curve{{Policy: "untrained"}}},
		"empty log":    {Sections: []Section{{Comparison: bare.Comparison, Schedules: []*sim.Log{{Scheduler: "idle"}}}}},
	} {
		if page := write(t, r); !bytes.HasSuffix(bytes.TrimSpace(page), []byte("</html>")) {
			t.Errorf("%s: the page does not end", name)
		}
	}
}

// large returns a report with two schedules of 50,000 jobs with many preemptions.
func large(tb testing.TB) *Report {
	tb.Helper()
	e := generated(tb, 50_000, 32, 0.95, 1)
	var s Section
	for _, policy := range []string{"srtf", "las"} {
		log := play(tb, e, policy)
		s.Results = append(s.Results, result(log, "generated-v1", "test-0", policy))
		s.Schedules = append(s.Schedules, log)
	}
	s.compare(tb, "srtf")
	return &Report{Title: "fifty thousand jobs", Sections: []Section{s}}
}
