package policy_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

// bundle copies the released policy into a folder.
func bundle(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "policy")
	must.Do(t, os.CopyFS(dir, released.FS()))
	return dir
}

func TestPoliciesAreFoundByName(t *testing.T) {
	dir := bundle(t)
	inside := must.Get(new(policy.Finder).Load(released.Name))(t)
	for _, c := range []struct {
		arg, name, digest   string
		learned, reloadable bool
	}{
		{"fifo", "fifo", "", false, false},
		{"sjfhold:times=3:place=menu", "sjfhold:times=3:place=menu", "", false, false},
		{"mine=srsf+menu", "mine", "", false, false},
		{"srsf+menu+loan:reclaim=scf", "srsf+menu+loan:reclaim=scf", "", false, false},
		{released.Name, released.Name, inside.Digest, true, false},
		{"mine=" + released.Name, "mine", inside.Digest, true, false},
		{released.Name + "+loan", released.Name + "+loan", inside.Digest, true, false},
		{released.Name + "+loan:reclaim=scf", released.Name + "+loan:reclaim=scf", inside.Digest, true, false},
		{released.Name + "+know:time=history", released.Name + "+know:time=history", inside.Digest, true, false},
		{"x=" + released.Name + "+loan+know:by=mean", "x", inside.Digest, true, false},
		{dir, released.Name, inside.Digest, true, true},
		{"mine=" + dir, "mine", inside.Digest, true, true},
		{dir + "+loan", released.Name + "+loan", inside.Digest, true, true},
	} {
		source, err := new(policy.Finder).Find(c.arg)
		if err != nil {
			t.Errorf("%s: %v", c.arg, err)
			continue
		}
		p, err := source.Load()
		if err != nil {
			t.Errorf("%s: %v", c.arg, err)
			continue
		}
		s, err := p.New()
		if err != nil {
			t.Errorf("%s: %v", c.arg, err)
			continue
		}
		if p.Name != c.name || p.Digest != c.digest || (source.Stamp != nil) != c.reloadable || (p.Learned != nil) != c.learned ||
			(p.Prior != nil) != c.learned || (p.Folder == dir) != c.reloadable || s == nil {
			t.Errorf("%s: %q with digest %q of folder %q, learned %v", c.arg, p.Name, p.Digest, p.Folder, p.Learned != nil)
		}
		if c.learned && (p.Prior.Name != policy.Prior || len(p.Training.Seen) == 0) {
			t.Errorf("%s: prior %+v, training %+v", c.arg, p.Prior, p.Training)
		}
	}
}

// TestBaselinesApartAreRefused checks that a program without forests, such as this test, rejects the baseline that needs them,
// with that reason: asked for by name, and as the prior or a rival of a learned policy.
func TestBaselinesApartAreRefused(t *testing.T) {
	for _, name := range []string{"a-srpt", "a-srpt:tau=1+menu", "mine=a-srpt+move", "a-srpt+loan"} {
		_, err := new(policy.Finder).Find(name)
		if err == nil || !strings.Contains(err.Error(), "is not part of this program; clustergym and") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	b := must.Get(checkpoints.ReadBundleFS(released.FS(), checkpoints.Limits{}))(t)
	b.Manifest.Prior.Name = "a-srpt"
	dir := filepath.Join(t.TempDir(), "policy")
	must.Do(t, checkpoints.WriteBundle(dir, b.Manifest, b.Tensors, b.ONNX, "", nil))
	_, err := new(policy.Finder).Load(dir)
	if !errors.Is(err, checkpoints.ErrForeign) || !strings.Contains(err.Error(), "a-srpt is not part of this program") {
		t.Errorf("as a prior: error %v", err)
	}
	d := agents.Design{Window: 16, Prior: "fifo", Size: agents.DefaultSize(), Wide: agents.Wide{Items: 8, Rivals: []string{"a-srpt"}}}
	_, err = d.Make(func(s agents.Shape) (agents.Params, error) { return agents.Layout(s), nil })
	if err == nil || !strings.Contains(err.Error(), "a-srpt is not part of this program") {
		t.Errorf("as a rival: error %v", err)
	}
}

// TestFilesOfOptions checks that the digest of a policy depends on the files of its options, and not on files that are called as
// a word of its name.
func TestFilesOfOptions(t *testing.T) {
	t.Chdir(t.TempDir())
	digest := func(name string) string {
		t.Helper()
		p := must.Get((&policy.Finder{Table: all.Table()}).Load(name))(t)
		return p.Digest
	}
	for _, word := range []string{"srtf", "place", "menu", "x.predictor", "y.predictor"} {
		must.Do(t, os.WriteFile(word, []byte(word), 0o600))
	}
	if err := os.Truncate("srtf", 1<<40); err != nil { // nobody reads it
		t.Fatal(err)
	}
	if got := digest("srtf:place=menu+menu"); got != "" {
		t.Errorf("a policy without files has the digest %s", got)
	}
	x, y := digest("a-srpt:predictor=x.predictor+move"), digest("a-srpt:predictor=y.predictor")
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	if x != sum("x.predictor") || y != sum("y.predictor") {
		t.Errorf("the digests are %s and %s, want those of the files", x, y)
	}
	if _, err := (&policy.Finder{Table: all.Table()}).Load("a-srpt:predictor=none.predictor"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that does not exist: error %v", err)
	}
}

func TestNamesOfNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		arg    string
		folder bool
		want   string
	}{
		{"", false, "want a name, a folder"},
		{"=fifo", false, "want a name, a folder"},
		{"sjfskp", false, `did you mean "sjfskip"?`},
		{"something-else", false, "want one of"},
		{"fifo:x=1", false, "x"},
		{"released+loan:reclaim=never", false, "never"},
		{file, false, "is a file"},
		{filepath.Join(dir, "none"), true, "no such folder"},
		{dir, true, "holds no manifest.json"},
	} {
		_, err := new(policy.Finder).Find(c.arg)
		var name *policy.NameError
		if !errors.As(err, &name) || name.Folder != c.folder || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.arg, err, c.want)
		}
	}
}

// TestRulesDoNotDependOnNames checks that policies of the same name that decide differently differ in digest or rule.
func TestRulesDoNotDependOnNames(t *testing.T) {
	seen := map[string]string{}
	for _, arg := range []string{"fifo", "srsf+menu", "srsf+menu:places=8", "srsf+menu+know", released.Name, released.Name + "+loan",
		released.Name + "+loan+know"} {
		p := must.Get(new(policy.Finder).Load("x=" + arg))(t)
		key := p.Digest + " " + p.Rule
		if other, ok := seen[key]; ok || p.Name != "x" {
			t.Errorf("%s: name %q, digest and rule %q, as %q", arg, p.Name, key, other)
		}
		seen[key] = arg
	}
}

// TestLearnedPoliciesMayBeFitted checks that a learned policy with a suffix that asks for the training split, or for the truth, is
// found where a command can give it, and only there.
func TestLearnedPoliciesMayBeFitted(t *testing.T) {
	for _, suffix := range []string{"+know:speed=fit:seen=training", "+know:time=truth"} {
		arg := released.Name + suffix
		if _, err := new(policy.Finder).Load(arg); err == nil || !strings.Contains(err.Error(), "this needs a scenario") {
			t.Errorf("%s without a scenario: error %v", arg, err)
		}
		p, err := (&policy.Finder{Fits: true}).Load(arg)
		if err != nil {
			t.Errorf("%s: %v", arg, err)
		} else if p.Learned == nil || p.Needs.Past() != strings.Contains(arg, "training") || p.Needs.Truth.Times == p.Needs.Past() {
			t.Errorf("%s: needs %+v", arg, p.Needs)
		}
	}
}

// TestFindingReadsNothing checks that a folder is read when its policy is loaded, and not before.
func TestFindingReadsNothing(t *testing.T) {
	dir := bundle(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "weights.safetensors"), []byte("damaged"), 0o600))
	source := must.Get(new(policy.Finder).Find(dir))(t)
	if _, err := source.Load(); !errors.Is(err, checkpoints.ErrDamaged) {
		t.Errorf("%v, want it damaged", err)
	}
}

// TestRunsAreTheCallers checks that the caller's Run function reads the folder of a run, even if the folder contains a bundle.
func TestRunsAreTheCallers(t *testing.T) {
	dir := bundle(t)
	read := 0
	f := &policy.Finder{Run: func(at string) func() (*agents.Policy, checkpoints.Provenance, error) {
		if at != dir {
			return nil
		}
		return func() (*agents.Policy, checkpoints.Provenance, error) {
			read++
			p, m, err := agents.LoadFS(released.FS())
			return p, m.Training, err
		}
	}}
	source := must.Get(f.Find("mine=" + dir))(t)
	p, err := source.Load()
	if err != nil || p.Name != "mine" || p.Folder != dir || source.Stamp != nil || read != 1 {
		t.Errorf("%+v, %v, read %d times", p, err, read)
	}
}

func TestFallbacks(t *testing.T) {
	of := decidetest.Baseline("sjfskip")
	learned := decidetest.Baseline("mine")
	learned.Prior = decidetest.Baseline("las")
	for _, c := range []struct {
		name string
		of   *policy.Policy
		want string
	}{
		{"", of, policy.UsualFallback}, {"", learned, "las"}, {"prior", learned, "las"}, {"prior", of, "prior"},
		{"fifo", of, "fifo"}, {"fifo", learned, "fifo"},
	} {
		p, err := new(policy.Finder).Fallback(c.name)(c.of)
		if err != nil || p.Name != c.want {
			t.Errorf("%q for %s: %+v, %v, want %s", c.name, c.of.Name, p, err, c.want)
		}
	}
}

// TestStamps checks that a stamp changes when the files of a bundle change, and not otherwise.
func TestStamps(t *testing.T) {
	dir := bundle(t)
	source := must.Get(new(policy.Finder).Find(dir))(t)
	stamp := func() string {
		t.Helper()
		s := must.Get(source.Stamp())(t)
		return s
	}
	was := stamp()
	if now := stamp(); now != was {
		t.Error("the stamp of an unchanged folder changes")
	}
	for _, name := range []string{"manifest.json", "weights.safetensors"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY, 0)
		must.Do(t, err)
		_, err = f.WriteString(" ")
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		now := stamp()
		if now == was {
			t.Errorf("%s has changed, the stamp has not", name)
		}
		was = now
	}
	must.Do(t, os.Remove(filepath.Join(dir, "manifest.json")))
	if _, err := source.Stamp(); err == nil {
		t.Error("a folder without a manifest has a stamp")
	}
}
