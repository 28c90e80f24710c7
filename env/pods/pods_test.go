package pods

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// a returns a pod of the namespace n with labels and annotations from "key=value" words; those of annotations begin with @.
func a(name, words string, change ...func(*Pod)) *Pod {
	p := &Pod{Namespace: "n", Name: name, Labels: map[string]string{}, Annotations: map[string]string{}}
	for word := range strings.FieldsSeq(words) {
		key, value, _ := strings.Cut(word, "=")
		if note, ok := strings.CutPrefix(key, "@"); ok {
			p.Annotations[note] = value
		} else {
			p.Labels[key] = value
		}
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func bound(p *Pod)     { p.Bound = true }
func gated(p *Pod)     { p.Gated = true }
func succeeded(p *Pod) { p.Succeeded = true }
func native(p *Pod)    { p.Group = "g" }

func ownedBy(kind, name string) func(*Pod) {
	return func(p *Pod) { p.Owner = Owner{kind, name, kind + name} }
}

// all has one object in each API: g with 3 members.
func all() Objects {
	o := Objects{}
	for _, api := range []string{Native, Plugins, Volcano, KAI} {
		o[api] = func(_, name string) *Object {
			return map[string]*Object{"g": {Least: 3}, "basic": {Basic: true}, "bad": {Err: errors.New("it is bad")}}[name]
		}
	}
	return o
}

func TestGroupsOfPods(t *testing.T) {
	const least, label = "clustergym.dev/min-member", "scheduling.x-k8s.io/pod-group"
	for _, c := range []struct {
		pod  *Pod
		want string // API, name and number, open, and a part of the error
	}{
		{a("p", ""), "pod p 1"},
		{a("p", "", native), Native + " g 3"},
		{a("p", label+"=x @"+least+"=2", native), Native + " g 3"},
		{a("p", label+"=g @"+least+"=2"), Plugins + " g 3"},
		{a("p", label+"=x @"+least+"=2"), "label x 2"},
		{a("p", label+"=x"), "label x 1, want the name of a PodGroup of " + Plugins + " that exists"},
		{a("p", label+"=x @"+least+"=no"), `label x 1, annotation clustergym.dev/min-member is "no"`},
		{a("p", label+"=bad"), Plugins + " bad 1, it is bad"},
		{a("p", label+"=basic"), "pod p 1"},
		{a("p", "@scheduling.k8s.io/group-name=g"), Volcano + " g 3"},
		{a("p", "@scheduling.volcano.sh/group-name=g @scheduling.k8s.io/group-name=x"), Volcano + " g 3"},
		{a("p", "@scheduling.k8s.io/group-name=x"), Volcano + ` x 1, "x", want the name of a PodGroup`},
		{a("p", "@pod-group-name=g"), KAI + " g 3"},
		{a("p", "kueue.x-k8s.io/pod-group-name=k @kueue.x-k8s.io/pod-group-total-count=4"), "Kueue k 4"},
		{a("p", "kueue.x-k8s.io/pod-group-name=k @kueue.x-k8s.io/pod-group-total-count=4 @"+least+"=2"), "Kueue k 2"},
		{a("p", "kueue.x-k8s.io/pod-group-name=k"), "Kueue k 1, want also the annotation kueue.x-k8s.io/pod-group-total-count"},
		{a("p", "kueue.x-k8s.io/pod-group-name=k @kueue.x-k8s.io/pod-group-total-count=4 @kueue.x-k8s.io/pod-group-serving=true"), "pod p 1"},
		{a("p", "kueue.x-k8s.io/pod-group-name=k @kueue.x-k8s.io/pod-group-total-count=4 @kueue.x-k8s.io/pod-group-fast-admission=true"), "Kueue k 1 open"},
		{a("p", "kueue.x-k8s.io/pod-group-name=k leaderworkerset.sigs.k8s.io/name=l @leaderworkerset.sigs.k8s.io/size=2"), "LeaderWorkerSet l-0 2"},
		{a("p", "leaderworkerset.sigs.k8s.io/name=l leaderworkerset.sigs.k8s.io/group-index=7 @leaderworkerset.sigs.k8s.io/size=2"), "LeaderWorkerSet l-7 2"},
		{a("p", "jobset.sigs.k8s.io/jobset-name=s", ownedBy("Job", "s-a-0")), "JobSet s-a-0 1 open"},
		{a("p", "jobset.sigs.k8s.io/jobset-name=s batch.kubernetes.io/job-name=s-a-0 @"+least+"=4"), "JobSet s-a-0 4"},
		{a("p", "jobset.sigs.k8s.io/jobset-name=s"), "pod p 1"},
		{a("p", "training.kubeflow.org/job-name=t"), "training job t 1 open"},
		{a("p", "", ownedBy("PyTorchJob", "t")), "training job t 1 open"},
		{a("p", "batch.kubernetes.io/job-name=j", ownedBy("Job", "j")), "pod p 1"},
		{a("p", "", ownedBy("Workflow", "w")), "pod p 1"},
	} {
		g := Of(c.pod, all())
		got := fmt.Sprint(g.API, " ", g.Name, " ", g.Least)
		if g.Open {
			got += " open"
		}
		want, wrong, _ := strings.Cut(c.want, ", ")
		if got != want || (g.Err == nil) != (wrong == "") || g.Err != nil && !strings.Contains(g.Err.Error(), wrong) {
			t.Errorf("%v: %s, %v, want %s", c.pod, got, g.Err, c.want)
		}
	}
	if g := Of(a("p", "@scheduling.k8s.io/group-name=g"), nil); g.Err == nil || !strings.Contains(g.Err.Error(), "the server does not have "+Volcano) {
		t.Errorf("without the API: %v", g.Err)
	}
}

func TestWhateverUsersWriteACountIsWithinItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := a("p", GroupLabel+"=g")
		p.Annotations[MinMemberNote] = rapid.OneOf(rapid.String(), rapid.StringMatching(`-?[0-9]{1,12}`)).Draw(t, "text")
		if g := Of(p, nil); g.API != Labelled || g.Least < 1 || g.Least > MostMembers {
			t.Fatalf("got %+v", g)
		}
	})
}

func TestObjectsOfGroups(t *testing.T) {
	for _, c := range []struct {
		o    *Object
		want string
	}{
		{NativeObject("g", true, false, false, 2), "2 false <nil>"},
		{NativeObject("g", false, true, false, 0), "0 true <nil>"},
		{NativeObject("g", true, false, false, 0), "minCount is 0"},
		{NativeObject("g", true, true, false, 2), "neither or both"},
		{NativeObject("g", true, false, true, 2), "spec.schedulingConstraints is set"},
		{MemberObject(Plugins, "g", true, 2), "2 false <nil>"},
		{MemberObject(Plugins, "g", true, 0), "minMember is 0"},
		{MemberObject(Plugins, "g", false, 0), "minMember is missing"},
		{MemberObject(Volcano, "g", false, 0), "1 false <nil>"},
		{MemberObject(KAI, "g", true, 0), "1 false <nil>"},
		{MemberObject(KAI, "g", true, -1), "minMember is -1"},
		{MemberObject(Volcano, "g", true, 1<<17), "want a whole number from 1 to 65536"},
	} {
		if got := fmt.Sprint(c.o.Least, c.o.Basic, c.o.Err); !strings.Contains(strings.ReplaceAll(got, "  ", " "), c.want) {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// told describes a gang.
func told(g *Gang) string {
	names := func(list []*Pod) (all string) {
		for _, p := range list {
			all += p.Name
		}
		return all
	}
	return fmt.Sprintf("%s needs %d: bound %s, free %s, gated %s, ended %s", g.Name, g.Need(), names(g.Bound), names(g.Free), names(g.Gated), names(g.Ended))
}

func TestGangs(t *testing.T) {
	const g, t4 = "scheduling.x-k8s.io/pod-group=g @clustergym.dev/min-member=3", "training.kubeflow.org/job-name=t"
	asks := map[string]string{"z": "other"}
	for _, c := range []struct {
		name string
		pods []*Pod
		want string
	}{
		{"each list by name", []*Pod{a("d", g, gated), a("c", g), a("b", g, bound), a("a", g)}, "g needs 3: bound b, free ac, gated d, ended "},
		{"those that have succeeded need no room", []*Pod{a("a", g), a("b", g, succeeded), a("c", g, succeeded)}, "g needs 1: bound , free a, gated , ended bc"},
		{"those of an earlier run do not count", []*Pod{a("a", g), a("b", g, succeeded, ownedBy("Job", "old"))}, "g needs 3: bound , free a, gated , ended b"},
		{"an open gang that waits needs all", []*Pod{a("a", t4), a("b", t4)}, "t needs 2: bound , free ab, gated , ended "},
		{"one that runs needs those", []*Pod{a("a", t4, bound), a("b", t4)}, "t needs 1: bound a, free b, gated , ended "},
		{"pods of other roles are alone", []*Pod{a("a", t4), a("b", t4), a("z", t4)},
			"t needs 2: bound , free ab, gated , ended ; z needs 1: bound , free z, gated , ended "},
		{"a stated gang is not split", []*Pod{a("a", g), a("b", g), a("z", g)}, "g needs 3: bound , free abz, gated , ended "},
	} {
		var got []string
		for _, gang := range Gangs(c.pods, func(p *Pod) Group { return Of(p, nil) }, func(p *Pod) string { return asks[p.Name] }) {
			got = append(got, told(gang))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}

// TestEveryPodIsInOneGang checks Gangs on drawn pods, in any order.
func TestEveryPodIsInOneGang(t *testing.T) {
	words := []string{"", "scheduling.x-k8s.io/pod-group=g", "@clustergym.dev/min-member=2", "training.kubeflow.org/job-name=t",
		"jobset.sigs.k8s.io/jobset-name=s batch.kubernetes.io/job-name=s-0", "@pod-group-name=g"}
	rapid.Check(t, func(t *rapid.T) {
		var list []*Pod
		for i := range rapid.IntRange(0, 12).Draw(t, "pods") {
			p := a(fmt.Sprint("p", i), strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 3).Draw(t, "words"), " "))
			p.Bound, p.Gated, p.Succeeded = rapid.Bool().Draw(t, "bound"), rapid.Bool().Draw(t, "gated"), rapid.Bool().Draw(t, "succeeded")
			p.Index = rapid.IntRange(0, 1).Draw(t, "ask")
			list = append(list, p)
		}
		in := func(list []*Pod) (got []string) {
			seen := map[*Pod]int{}
			for _, g := range Gangs(list, func(p *Pod) Group { return Of(p, all()) }, func(p *Pod) string { return fmt.Sprint(p.Index) }) {
				got = append(got, told(g))
				for _, p := range slices.Concat(g.Bound, g.Free, g.Gated, g.Ended) {
					seen[p]++
				}
			}
			for _, p := range list {
				if seen[p] != 1 {
					t.Fatalf("%s is in %d gangs, want 1: %q", p.Name, seen[p], got)
				}
			}
			return got
		}
		got := in(list)
		if again := in(rapid.Permutation(list).Draw(t, "order")); !slices.Equal(got, again) {
			t.Fatalf("%q, in another order %q", got, again)
		}
	})
}

func TestTerms(t *testing.T) {
	g := &Gang{Group: Group{Key: Key{Namespace: "n", Name: "g"}, Least: 2, Annotations: map[string]string{EstimateNote: "90m"}}}
	p := a("p", "@clustergym.dev/estimate=1h @clustergym.dev/model=m @clustergym.dev/min-workers=3 @clustergym.dev/max-workers=5")
	if got, wrong := g.Terms([]*Pod{p}, true); got != (Terms{3, 5, 90 * time.Minute, "m"}) || wrong != nil {
		t.Errorf("got %+v, %v", got, wrong)
	}
	if got, wrong := g.Terms([]*Pod{p}, false); got != (Terms{0, 0, 90 * time.Minute, "m"}) || wrong != nil {
		t.Errorf("not elastic: got %+v, %v", got, wrong)
	}
	g.Annotations = nil
	for words, want := range map[string]string{
		"@clustergym.dev/estimate=soon":   `pod n/p: annotation clustergym.dev/estimate is "soon"`,
		"@clustergym.dev/estimate=-1h":    "want a duration above 0",
		"@clustergym.dev/min-workers=1":   "is 1, want at least 2",
		"@clustergym.dev/max-workers=x":   `is "x", want a whole number`,
		"@clustergym.dev/model=" + "\x01": "all printable",
	} {
		got, wrong := g.Terms([]*Pod{a("p", words)}, true)
		if got != (Terms{}) || len(wrong) != 1 || !strings.Contains(wrong[0].Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", words, got, wrong, want)
		}
	}
	if workers, least, most := (&Terms{}).Size(2, 4, 0, false); workers != 4 || least != 2 || most != 4 {
		t.Errorf("4 pods of at least 2: %d, %d to %d", workers, least, most)
	}
	if workers, least, most := (&Terms{Max: 3}).Size(2, 5, 4, true); workers != 4 || least != 2 || most != 4 {
		t.Errorf("4 bound of at most 3: %d, %d to %d", workers, least, most)
	}
}

func TestFractions(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"", "none"},
		{"@gpu-fraction=0.5 runai-gpu-group=x", "500 of 1 on [x]"},
		{"@gpu-fraction=1", "1000 of 1 on []"},
		{"@gpu-fraction=0.3333 @gpu-fraction-num-devices=2 runai-gpu-group/x=x runai-gpu-group/y", "334 of 2 on [x y]"},
		{"@gpu-memory=2000", "0 of 1 on [], memory 2000"},
		{"@gpu-fraction=0", `0 of 1 on [], "0"`}, {"@gpu-fraction=1.5", `"1.5"`}, {"@gpu-fraction=NaN", `"NaN"`}, {"@gpu-fraction=", `""`},
		{"@gpu-fraction=0.5 @gpu-fraction-num-devices=-1", `"-1"`}, {"@gpu-fraction=0.5 @gpu-fraction-num-devices=99999999999", "want a whole number"},
	} {
		f, ok := FractionOf(a("p", c.words))
		got := "none"
		if ok {
			got = fmt.Sprintf("%d of %d on %v", f.Milli, f.Devices, f.Shared)
		}
		if f.Memory != "" {
			got += ", memory " + f.Memory
		}
		if f.Err != nil {
			got += ", " + f.Err.Error()
		}
		for part := range strings.SplitSeq(c.want, ", ") {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s, want %s", c.words, got, c.want)
			}
		}
	}
	for words, want := range map[string]bool{"app=kai-resource-reservation": true, "app=runai-reservation": true, "app=x": false} {
		if _, ok := Reserves(a("p", words)); ok != want {
			t.Errorf("%s: %t, want %t", words, ok, want)
		}
	}
}

func TestNamesOfJobs(t *testing.T) {
	long := strings.Repeat("é", 200)
	if got := JobName("a/b", "pod"); got != "a/b (pod)" {
		t.Errorf("got %q", got)
	}
	if x, y := JobName(long, ""), JobName(long, "pod"); x == y || len(x) > 256 || len(y) > 256 {
		t.Errorf("got %q and %q", x, y)
	}
}
