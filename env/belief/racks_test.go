package belief

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// over returns the configuration of a job as it asked, on so many servers in so many racks.
func over(spec *cluster.JobSpec, servers, racks int32) cluster.Configuration {
	c := as(spec, 3)
	c.Servers, c.Racks = servers, racks
	return c
}

// TestReadingsTellWhatRacksCost checks that readings tell apart what two servers cost and what two racks cost: for the job itself,
// for another one of the user, and less surely for others. Before them, two racks are believed to cost much.
func TestReadingsTellWhatRacksCost(t *testing.T) {
	for _, c := range []struct{ servers, racks float64 }{{1, 1}, {1, 0.25}, {0.5, 1}, {0.6, 0.4}} {
		toy, l := newToy(t, 6), NewSpeeds(true)
		spec := cluster.JobSpec{User: "ada", Workers: 8, Request: amount(3)}
		believed := func(id cluster.JobID, servers, racks int32) float64 {
			at := over(toy.Spec(id), servers, racks)
			mean, _ := l.Of(&toy.View, toy.Spec(id), &at)
			return math.Exp(mean)
		}
		next, foreign := toy.submit(spec), toy.submit(cluster.JobSpec{User: "bob", Workers: 8, Request: amount(3)})
		if cost := believed(next, 2, 2) / believed(next, 2, 1); cost < 0.2 || cost > 0.6 {
			t.Errorf("before any reading, a second rack leaves %.2f of the speed", cost)
		}
		id := cluster.JobID(0)
		for range 4 {
			id = toy.submit(spec)
			for _, r := range []struct {
				servers, racks int32
				speed          float64
			}{{1, 1, 1}, {2, 1, c.servers}, {2, 2, c.servers * c.racks}} {
				toy.read(id, over(toy.Spec(id), r.servers, r.racks), 7*r.speed)
				l.Read(&toy.View, id)
			}
		}
		for _, q := range []struct {
			job  cluster.JobID
			most float64 // logarithm
		}{{id, 0.12}, {next, 0.2}, {foreign, 0.5}} {
			for racks, want := range map[int32]float64{1: c.servers, 2: c.servers * c.racks} {
				if got := believed(q.job, 2, racks); math.Abs(math.Log(got/want)) > q.most {
					t.Errorf("%+v: job %d on two servers in %d racks has speed %.2f, want %.2f", c, q.job, racks, got, want)
				}
			}
		}
	}
}

// TestRacksNeverHelp checks, whatever was read, that a job is never believed to be faster in several racks than in one, and that
// that neither their number nor a cluster without racks makes a difference.
func TestRacksNeverHelp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, l := newToy(t, 7), NewSpeeds(rapid.IntRange(0, 9).Draw(t, "learns") > 0)
		drawReadings(t, c, l)
		spec, at := ask(t, c)
		of := func(racks int32) float64 {
			at.Racks = racks
			mean, _ := l.Of(&c.View, spec, &at)
			return mean
		}
		if none, one, two, three := of(0), of(1), of(2), of(3); none != one || two != three || two > one {
			t.Fatalf("logarithm of speed %v without racks, %v in one, %v in two, %v in three", none, one, two, three)
		}
	})
}

// TestOneRackTeachesNothing checks that readings in one rack teach the same as those of a cluster without racks.
func TestOneRackTeachesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, racked, flat := newToy(t, 1), NewSpeeds(true), NewSpeeds(true)
		id := c.submit(drawSpec(t))
		other := newToy(t, 1)
		other.submit(*c.Spec(id))
		for range rapid.IntRange(1, 12).Draw(t, "readings") {
			at, speed := drawConfiguration(t), math.Exp(rapid.Float64Range(-5, 5).Draw(t, "log"))
			at.Racks = 1
			c.read(id, at, speed)
			at.Racks = 0
			other.read(id, at, speed)
			racked.Read(&c.View, id)
			flat.Read(&other.View, id)
		}
		if a, b := racked.Save(), flat.Save(); string(a) != string(b) {
			t.Fatalf("in one rack\n%s\nwithout racks\n%s", a, b)
		}
	})
}

// before makes a text of version 3 one of an earlier version: without the effect of racks, and in version 1 without a width.
func before(t rapid.TB, text string, version int) string {
	var all map[string]any
	must.Do(t, json.Unmarshal([]byte(text), &all))
	if all["version"] = version; version == 1 {
		delete(all, "width")
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for key, e := range v {
				switch list, _ := e.([]any); key {
				case "x", "pull":
					v[key] = slices.Delete(list, racksAt, racksAt+1)
				case "precision":
					first := racksAt * (racksAt + 1) / 2
					for row := effects - 1; row > racksAt; row-- {
						at := row*(row+1)/2 + racksAt
						list = slices.Delete(list, at, at+1)
					}
					v[key] = slices.Delete(list, first, first+racksAt+1)
				default:
					walk(e)
				}
			}
		}
	}
	walk(all)
	var old []string // in the order of the text: the lists are read by what stands before them
	for _, key := range []string{"version", "learner", "read", "width", "types", "circles", "units", "jobs"} {
		if v, ok := all[key]; ok {
			old = append(old, fmt.Sprintf("%q:%s", key, must.Get(json.Marshal(v))(t)))
		}
	}
	return "{" + strings.Join(old, ",") + "}"
}

// TestOldSpeedsAreRestored checks that a text of an earlier version says the same as one of version 3 whose readings were all in
// one rack, and that what is learned of racks afterwards counts.
func TestOldSpeedsAreRestored(t *testing.T) {
	text := savedSpeeds(t)
	for version := 1; version <= 2; version++ {
		old, l := before(t, text, version), NewSpeeds(true)
		if err := l.Restore([]byte(old)); err != nil || string(l.Save()) != text {
			t.Errorf("version %d: error %v, saved\n%s\nwant\n%s", version, err, l.Save(), text)
		}
		long := strings.Replace(old, `"pull":[`, `"pull":[0,`, 1)
		if err := l.Restore([]byte(long)); err == nil || !strings.Contains(err.Error(), "circles[0].pull[26]: 0, want a list of at most 26") {
			t.Errorf("version %d with the numbers of version 3: error %v", version, err)
		}
		c := newToy(t, 1)
		id := c.submit(cluster.JobSpec{User: "ada", Workers: 8, Request: amount(3)})
		for racks, speed := range map[int32]float64{1: 1, 2: 0.2} {
			c.read(id, over(c.Spec(id), 2, racks), speed)
			l.Read(&c.View, id)
		}
		at := over(c.Spec(id), 2, 2)
		one := over(c.Spec(id), 2, 1)
		if mean, _ := l.Between(&c.View, c.Spec(id), &one, &at); math.Abs(mean-math.Log(0.2)) > 0.15 {
			t.Errorf("version %d: a second rack changes the logarithm of speed by %v, want %v", version, mean, math.Log(0.2))
		}
	}
}
