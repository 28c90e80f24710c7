package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/tbevent"
	"github.com/clustergym/clustergym/internal/tbevent/tbeventtest"
	"github.com/clustergym/clustergym/train/recipe"
)

// point is the position of a value in a chart.
type point struct {
	tag  string
	step int64
}

// shown returns what a viewer shows for a run: the events of its files in the order of their names, where a start record removes
// earlier events of its step and later steps. Duplicate points fail the test. files is the number of files, torn the number of
// files that end within a record.
func shown(t *testing.T, dir string) (points map[point]tbeventtest.Value, files, torn int) {
	t.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(dir, tbevent.Prefix+"*")))(t)
	points = map[point]tbeventtest.Value{}
	for _, path := range paths {
		events, err := tbeventtest.Read(t, path)
		if errors.Is(err, tbeventtest.ErrTorn) {
			torn++
		} else if err != nil {
			t.Fatal(err)
		}
		for i, e := range events {
			if (e.Version == "brain.Event:2") != (i == 0) || (e.Session != nil && e.Session.Status == 1) != (i == 1) {
				t.Errorf("%s: event %d is %+v, want a version, a start, and then values", path, i, e)
			}
			if e.Session != nil {
				for p := range points {
					if p.step >= e.Step {
						delete(points, p)
					}
				}
			}
			if e.Summary != nil {
				for _, v := range e.Summary.Values {
					p := point{v.Tag, e.Step}
					if _, ok := points[p]; ok {
						t.Errorf("%s: %s comes twice at update %d", path, v.Tag, e.Step)
					}
					points[p] = v
				}
			}
		}
	}
	return points, len(paths), torn
}

// scalars returns the scalars that the metrics must lead to.
func scalars(t *testing.T, metrics []Metrics) map[point]float32 {
	t.Helper()
	want := map[point]float32{}
	total := 0
	for i := range metrics {
		m := &metrics[i]
		fields := map[string]any{} // numbers, and objects of numbers
		text, err := json.Marshal(m)
		if err == nil {
			err = json.Unmarshal(text, &fields)
		}
		must.Do(t, err)
		for _, term := range Glossary() {
			if x, ok := fields[term.Key]; ok && term.Tag != "" {
				if x == true {
					x = 1.
				}
				for name, x := range byBaseline(x) {
					want[point{strings.Replace(term.Tag, "BASELINE", name, 1), int64(m.Update)}] = float32(x.(float64))
				}
			}
		}
		total += m.Choices
		want[point{"train/decisions", int64(m.Update)}] = float32(total)
	}
	return want
}

// byBaseline returns the numbers of a metric by baseline, or its only one by no name.
func byBaseline(x any) map[string]any {
	if all, ok := x.(map[string]any); ok {
		return all
	}
	return map[string]any{"": x}
}

// watched checks the scalars that a viewer shows for a run against the run's metrics.
func watched(t *testing.T, dir string) (metrics []Metrics, points map[point]tbeventtest.Value, files, torn int) {
	t.Helper()
	metrics = must.Get(ReadMetrics(dir))(t)
	points, files, torn = shown(t, dir)
	got := map[point]float32{}
	for p, v := range points {
		if v.Histogram == nil {
			got[p] = float32(*v.Scalar)
		}
	}
	if diff := cmp.Diff(scalars(t, metrics), got); diff != "" {
		t.Errorf("scalars of the metrics and of the event files (-want +got):\n%s", diff)
	}
	return metrics, points, files, torn
}

// TestEventsAreTheMetrics checks that a viewer shows each metric of each update once, even for a run that was killed while
// writing and resumed, and that event files do not affect the run's results.
func TestEventsAreTheMetrics(t *testing.T) {
	cfg, opt := tiny(t)
	policy := mustRun(t, cfg, opt)
	other := opt
	other.Dir = filepath.Join(t.TempDir(), "run")
	other.Clock = func() time.Time { return time.Unix(1_700_000_000, 0) } // the clock stands still; later file names must still differ
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	other.Progress = func(m *Metrics) {
		if m.Update == 3 {
			cancel()
		}
	}
	if _, stopped, err := Run(ctx, cfg, other); err != nil || !stopped {
		t.Fatalf("cancelled: stopped %v, error %v", stopped, err)
	}
	edit(t, filepath.Join(other.Dir, "events.out.tfevents.1700000000.clustergym"), func(b []byte) []byte { return b[:len(b)-5] })
	other.Resume, other.Progress = true, nil
	sameWeights(t, mustRun(t, cfg, other), policy)
	same(t, other.Dir, opt.Dir)
	mustRun(t, cfg, other) // nothing is left to do

	metrics, points, files, torn := watched(t, other.Dir)
	if len(metrics) != 6 || files != 2 || torn != 1 {
		t.Errorf("%d metrics, %d event files, %d of them torn, want 6, 2 and 1", len(metrics), files, torn)
	}
	histograms := map[string][]int64{}
	for p, v := range points {
		if v.Histogram != nil {
			histograms[p.tag] = append(histograms[p.tag], p.step)
		}
	}
	all, due := []int64{1, 2, 3, 4, 5, 6}, []int64{2, 4, 6}
	drawn := all[cfg.Expert:] // updates by PPO, which sample episodes; updates from labels do not
	want := map[string][]int64{tagReturns: drawn, tagAdvantages: all, tagProbabilities: drawn}
	means := Glossary()[len(Glossary())-1].Means
	count := 0
	for i := range policy.Params {
		part, _, _ := strings.Cut(policy.Params[i].Name, ".")
		want[tagWeights+part] = due
		if !strings.Contains(means, part) {
			t.Errorf("the glossary lacks %s%s", tagWeights, part)
		}
		count += len(policy.Params[i].Data)
	}
	for tag := range histograms {
		slices.Sort(histograms[tag])
		if strings.HasPrefix(tag, tagWeights) {
			count -= int(points[point{tag, 6}].Histogram.Num)
		}
	}
	if diff := cmp.Diff(want, histograms); diff != "" {
		t.Errorf("updates of the histograms (-want +got):\n%s", diff)
	}
	if count != 0 {
		t.Errorf("the histograms lack %d weights", count)
	}
	for i := range metrics {
		m := &metrics[i]
		at := func(tag string) *tbeventtest.Histogram { return points[point{tag, int64(m.Update)}].Histogram }
		if m.Update <= cfg.Expert {
			if h := at(tagAdvantages); h.Num < float64(m.Learned) { // at least 1 other candidate in each choice
				t.Errorf("update %d: advantages %+v of %d choices", m.Update, h, m.Learned)
			}
			continue
		}
		if h := at(tagReturns); h.Num != 2 || float64(h.Sum)/2 != m.Return {
			t.Errorf("update %d: returns %+v, want 2 of mean %v", m.Update, h, m.Return)
		}
		h := at(tagProbabilities)
		if n := float64(m.Learned); h.Num != n || at(tagAdvantages).Num != n || h.Min <= 0 || h.Max > 1 {
			t.Errorf("update %d: probabilities %+v and advantages %+v, want %v", m.Update, h, at(tagAdvantages), n)
		}
	}
	for _, update := range []int64{1, 6} { // an update from labels and one by PPO
		if h := points[point{tagAdvantages, update}].Histogram; h.Min >= h.Max {
			t.Errorf("update %d: advantages from %v to %v", update, h.Min, h.Max)
		}
	}
	if v := points[point{"update/kl", 1}]; !strings.HasPrefix(v.Metadata.Description, "nats: divergence of ") {
		t.Errorf("update/kl says %q", v.Metadata.Description)
	}
	if paths, _ := filepath.Glob(filepath.Join(opt.Dir, tbevent.Prefix+"*")); len(paths) != 0 {
		t.Errorf("without a clock there are %v", paths)
	}
}

func TestGlossaryNamesEveryMetricOnce(t *testing.T) {
	var fields, keys []string
	for f := range reflect.TypeFor[Metrics]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	seen := map[string]bool{}
	for _, term := range Glossary() {
		if term.Key != "" {
			keys = append(keys, term.Key)
		}
		if seen[term.Tag] || term.Unit == "" || term.Means == "" || term.Key != "update" && !strings.Contains(term.Tag, "/") {
			t.Errorf("%+v: want a tag of its own, in a group, a unit and a meaning", term)
		}
		seen[term.Tag] = true
	}
	if !slices.Equal(keys, fields) {
		t.Errorf("keys %q, want the fields of Metrics %q", keys, fields)
	}
}

// TestTrainingPage checks that the page contains the glossary, row by row.
func TestTrainingPage(t *testing.T) {
	text := must.Get(os.ReadFile("../docs/training.md"))(t)
	code := func(s string) string {
		if s == "" {
			return ""
		}
		return "`" + s + "`"
	}
	rows := ""
	for _, term := range Glossary() {
		rows += fmt.Sprintf("| %s | %s | %s | %s |\n", code(term.Key), code(term.Tag), term.Unit, term.Means)
	}
	if !strings.Contains(string(text), "\n|---|---|---|---|\n"+rows+"\n") {
		t.Errorf("docs/training.md lacks the glossary's table:\n%s", rows)
	}
}

const line1 = `{"update":1,"choices":3,"learned":2,"departs":0.5,"return":-2.5,"relative_jct":1,"value":0.25,"entropy":0.5,"kl":0,` +
	`"clipped":0,"grad_norm":1}` + "\n"

func TestReadMetrics(t *testing.T) {
	second := strings.Replace(line1, `{"update":1,`, `{"update":2,"validation":0.75,`, 1)
	relative, better := 1., .75
	first := Metrics{
		Update: 1, Choices: 3, Learned: 2, Departs: 0.5, Return: -2.5, Relative: &relative, Value: 0.25, Entropy: 0.5, Norm: 1,
	}
	next := first
	next.Update, next.Validation = 2, &better
	for _, c := range []struct {
		name, text string
		want       []Metrics
		err        string
	}{
		{"none yet", "", nil, ""},
		{"the first is being written", line1[:30], nil, ""},
		{"two", line1 + second, []Metrics{first, next}, ""},
		{"the second is being written", line1 + second[:40], []Metrics{first}, ""},
		{"the second lacks its newline alone", line1 + strings.TrimSpace(second), []Metrics{first}, ""},
		{"the second is cut short within the file", line1 + second[:40] + "\n" + second, nil, "metrics.jsonl:2: "},
		{"the first is missing", second, nil, "metrics.jsonl:1: update 2, want 1"},
		{"one comes twice", line1 + line1, nil, "metrics.jsonl:2: update 1, want 2"},
		{"a word for a number", strings.Replace(line1, "-2.5", `"low"`, 1), nil, "metrics.jsonl:1: "},
		{"an empty line", "\n" + line1, nil, "metrics.jsonl:1: "},
	} {
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, metricsName), []byte(c.text), 0o666))
		got, err := ReadMetrics(dir)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	dir := t.TempDir()
	if _, err := ReadMetrics(dir); !errors.Is(err, checkpoints.ErrNone) {
		t.Errorf("no run: error %v, want %v", err, checkpoints.ErrNone)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, recipe.Name), nil, 0o666))
	if got, err := ReadMetrics(dir); err != nil || got != nil {
		t.Errorf("a run before its first update: %v, error %v", got, err)
	}
}

// FuzzReadMetrics checks that, for any file, the metrics read are the updates in order, and that they are read back unchanged
// after writing.
func FuzzReadMetrics(f *testing.F) {
	f.Add([]byte(line1))
	f.Add([]byte(line1 + `{"update":2,"validation":1}` + "\n" + `{"upd`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parseMetrics("metrics.jsonl", text)
		if err != nil {
			return
		}
		var again []byte
		for i := range got {
			if got[i].Update != i+1 {
				t.Fatalf("line %d is update %d", i+1, got[i].Update)
			}
			line := must.Get(json.Marshal(&got[i]))(t)
			again = append(append(again, line...), '\n')
		}
		back, err := parseMetrics("again", again)
		if diff := cmp.Diff(got, back); err != nil || diff != "" {
			t.Fatalf("error %v, read again (-first +second):\n%s", err, diff)
		}
	})
}
