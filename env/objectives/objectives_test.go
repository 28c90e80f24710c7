package objectives

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	library "github.com/clustergym/clustergym/objectives"
)

func TestLibrary(t *testing.T) {
	names := Names()
	if len(names) < 9 {
		t.Fatalf("%d objectives, want at least 9", len(names))
	}
	for _, name := range names {
		o, err := Open(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if o.Name != name || o.About == "" || o.Serves == "" {
			t.Errorf("%s: name %q, about %q, serves %q", name, o.Name, o.About, o.Serves)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	const head = "name: x\nterms:\n  - "
	for _, c := range []struct{ text, want string }{
		{"", "no text, want the keys name and terms"},
		{"name: x", "no terms, want at least one such as {cost: completion, price: 1/h}"},
		{"name: X y\nterms: [{cost: stop, price: 1}]", `name "X y", want a to z, 0 to 9 and dashes, at most 64`},
		{"name: x\nterm: []", `line 2: unknown key "term", want one of name, about, serves, unit, terms`},
		{head + "{cost: completion}", "line 3: term 1: completion: no price, want one such as 1/h or 0.5/min"},
		{head + "{cost: speed, price: 1}", `line 3: term 1: cost "speed", want completion, wait, late, stop, move, resize,`},
		{head + "{cost: stop, price: 1/h}", "line 3: term 1: stop: price 1/h, want one such as 30"},
		{head + "{cost: completion, price: 1}", "line 3: term 1: completion: price 1, want one such as 1/h or 0.5/min"},
		{head + "{cost: completion, price: -1/h}", "line 3: term 1: completion: price -1/h, want above 0 to 1e+09"},
		{head + "{cost: completion, price: 1/year}", `line 3: "1/year", want a price per s, min, h or d`},
		{head + "{cost: completion, price: cheap}", `line 3: "cheap", want a price such as 1/min, 0.05/h or 30`},
		{head + "{cost: stop, price: 1, over: 10m}", "line 3: term 1: stop: option over is for completion and wait"},
		{head + "{cost: wait, price: 1/h, over: soon}", `line 3: "soon", want a time from 0s to 3650d such as 90s, 10m, 1.5h or 2d`},
		{head + "{cost: wait, price: 1/h, jobs: {gpu: 4}}", `line 3: unknown key "gpu", want one of gpus, priority, run_time, tenants,`},
		{head + "{cost: wait, price: 1/h, jobs: {gpus: 8-4}}", `line 3: "8-4", want a number or a range such as 4, 1-4 or 8-`},
		{head + "{cost: wait, price: 1/h, jobs: {tenants: []}}", "line 3: a list, want a name or a list of names"},
		{head + "{cost: gpu_time, price: 1/h, prices: {24: 1}}", "line 3: term 1: prices: hour 24, want 0 to 23"},
		{head + "{cost: gpu_time, price: 1/h, prices: day.csv}", `line 3: prices: "day.csv", want hours and prices: files are read only`},
		{head + "{cost: makespan, price: 1/h, jobs: {gpus: 1}}", "makespan: option jobs is for costs of single jobs"},
		{head + "{cost: wait, price: 1/h, first: maybe}", "line 3: cannot unmarshal !!str `maybe` into bool"},
		{"name: x\nterms: &a [*a]", "line 2: an alias, want the values themselves"},
		{"name: x\n---\nname: y", "more than one document, want one"},
		{"name: x\nterms:\n" + strings.Repeat("  - {cost: stop, price: 1}\n", 65), "65 terms, want at most 64"},
		{strings.Repeat("#", mostBytes+1), "objective: more than 65536 bytes"},
	} {
		_, err := Read(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\n%v\nwant %s", c.text[:min(len(c.text), 80)], err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range Names() {
		text, err := library.Files.ReadFile(name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if o, err := Read(strings.NewReader(text)); err == nil && (len(o.Terms) == 0 || o.Name == "") {
			t.Fatalf("%q: %+v", text, o)
		}
	})
}

// TestSchema checks that the schema has the keys that files may have, and no others.
func TestSchema(t *testing.T) {
	type object struct {
		Properties map[string]json.RawMessage
	}
	parse := func(text []byte) (o object) {
		must.Do(t, json.Unmarshal(text, &o))
		return o
	}
	same := func(what string, o object, keys []string) {
		slices.Sort(keys)
		if got := slices.Sorted(maps.Keys(o.Properties)); !slices.Equal(got, keys) {
			t.Errorf("%s: the schema has %q, files %q", what, got, keys)
		}
	}
	whole := parse(Schema())
	same("file", whole, keysOf(&file{}))
	var list struct{ Items json.RawMessage }
	must.Do(t, json.Unmarshal(whole.Properties["terms"], &list))
	term := parse(list.Items)
	same("term", term, keysOf(&termFile{}))
	same("jobs", parse(term.Properties["jobs"]), keysOf(&jobsFile{}))
	same("deadline", parse(term.Properties["deadline"]), keysOf(&deadlineFile{}))
}
