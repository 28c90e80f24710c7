package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/internal/must"
)

type mode string

type job struct {
	Name    string        `yaml:"name"`
	GPUs    int           `yaml:"gpus"`
	Timeout time.Duration `yaml:"timeout"`
}

type train struct {
	LR        float64       `yaml:"lr"`
	BatchSize int           `yaml:"batch_size"`
	Timeout   time.Duration `yaml:"timeout"`
	Hidden    []int         `yaml:"hidden"`
	Resume    bool          `yaml:"resume"`
	Small     uint8         `yaml:"small"`
}

type settings struct {
	Name  string `yaml:"name"`
	Mode  mode   `yaml:"mode"`
	Seed  uint64 `yaml:"seed"`
	Train train  `yaml:"train"`
	Jobs  []job  `yaml:"jobs"`
	Tags  []string
	Keep  int `yaml:"-"`
	Old   int `yaml:"old,omitempty" gone:"seed replaces it"`
	own   int
}

func defaults() settings {
	return settings{
		Name:  "run",
		Mode:  "fast",
		Seed:  1,
		Train: train{LR: 1e-3, BatchSize: 64, Timeout: time.Minute, Hidden: []int{64, 64, 64}},
		Jobs:  []job{{Name: "a", GPUs: 8, Timeout: time.Hour}, {Name: "b", GPUs: 4}},
		Keep:  7,
		own:   9,
	}
}

func read(t *testing.T, text string, opts Options) (settings, Settings, error) {
	t.Helper()
	got := defaults()
	list, err := Read(strings.NewReader(text), "run.yaml", &got, opts)
	return got, list, err
}

func diff(a, b settings) string { return cmp.Diff(a, b, cmp.AllowUnexported(settings{})) }

func TestLayersRankSetEnvFileDefault(t *testing.T) {
	t.Setenv("CLUSTERGYM_TRAIN_LR", "2e-3")
	t.Setenv("CLUSTERGYM_TRAIN_BATCH_SIZE", "256")
	t.Setenv("CLUSTERGYM_TRAIN_TIMEOUT", "1h30m")
	t.Setenv("CLUSTERGYM_MODE", "a: b")
	t.Setenv("CLUSTERGYM_TAGS", "[x, y]")
	t.Setenv("CLUSTERGYM_NAME", "") // an empty variable counts as unset
	got, list, err := read(t, `
name: ResNet50 # case is kept
train:
  lr: 5e-3
  batch_size: 128
  hidden: [32]
  resume: true
jobs:
  - {name: ResNet50, gpus: 2, timeout: 90s}
`, Options{EnvPrefix: "CLUSTERGYM", Sets: []string{"train.batch_size=512", "seed=18446744073709551615", "train.small=3", "train.small=4"}})
	must.Do(t, err)
	want := settings{
		Name:  "ResNet50",
		Mode:  "a: b",
		Seed:  1<<64 - 1,
		Train: train{LR: 2e-3, BatchSize: 512, Timeout: 90 * time.Minute, Hidden: []int{32}, Resume: true, Small: 4},
		Jobs:  []job{{Name: "ResNet50", GPUs: 2, Timeout: 90 * time.Second}},
		Tags:  []string{"x", "y"},
		Keep:  7,
		own:   9,
	}
	if d := diff(want, got); d != "" {
		t.Errorf("values (-want +got):\n%s", d)
	}
	wantList := Settings{
		{"name", "ResNet50", fromFile, "run.yaml:2:7"},
		{"mode", mode("a: b"), fromEnv, "CLUSTERGYM_MODE"},
		{"seed", uint64(1<<64 - 1), fromSet, "--set"},
		{"train.lr", 2e-3, fromEnv, "CLUSTERGYM_TRAIN_LR"},
		{"train.batch_size", 512, fromSet, "--set"},
		{"train.timeout", 90 * time.Minute, fromEnv, "CLUSTERGYM_TRAIN_TIMEOUT"},
		{"train.hidden", []int{32}, fromFile, "run.yaml:6:11"},
		{"train.resume", true, fromFile, "run.yaml:7:11"},
		{"train.small", uint8(4), fromSet, "--set"},
		{"jobs", want.Jobs, fromFile, "run.yaml:9:3"},
		{"tags", []string{"x", "y"}, fromEnv, "CLUSTERGYM_TAGS"},
	}
	if d := cmp.Diff(wantList, list); d != "" {
		t.Errorf("origins (-want +got):\n%s", d)
	}
	if s, ok := list.Get("train.lr"); !ok || s.Source != fromEnv {
		t.Errorf("Get(train.lr) = %+v, %v", s, ok)
	}
	if _, ok := list.Get("train"); ok {
		t.Error("Get found a section")
	}
}

func TestNothingGivenKeepsTheDefaults(t *testing.T) {
	t.Setenv("CLUSTERGYM_SEED", "5") // ignored without a prefix
	for _, text := range []string{"", "# nothing\n", "---\n", "train:\n  # lr: 1\n", "{}"} {
		got, list, err := read(t, text, Options{})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if d := diff(defaults(), got); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
		for _, s := range list {
			if s.Source != Default || s.Where != "" {
				t.Errorf("%q: %s comes from %s %s", text, s.Key, s.Source, s.Where)
			}
		}
	}
}

func TestRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for _, c := range []struct {
		name, text string
		sets       []string
		want       []string // parts of the error
	}{
		{"a misspelled key", "train:\n  batchsize: 3\n", nil,
			[]string{`run.yaml:2:3: unknown key "train.batchsize"; did you mean "train.batch_size"?`}},
		{"a key that there was", "old: 3\n", []string{"old=4"}, []string{`run.yaml:1:1: unknown key "old"; seed replaces it`,
			`--set: unknown key "old"; seed replaces it`}},
		{"a key of another section", "lr: 3\n", nil, []string{`run.yaml:1:1: unknown key "lr"; did you mean "train.lr"?`}},
		{"a key like no other", "zzzzzz: 3\n", nil, []string{`run.yaml:1:1: unknown key "zzzzzz"`}},
		{"a key in another case", "Seed: 3\n", nil, []string{`unknown key "Seed"; did you mean "seed"?`}},
		{"two keys that differ by case", "seed: 3\nSeed: 4\n", nil, []string{`run.yaml:2:1: key "Seed"`, `see "seed" in line 1`}},
		{"a key given twice", "seed: 3\nseed: 4\n", nil, []string{`run.yaml:2:1: key "seed" stands twice`}},
		{"a dotted key in the file", "train.lr: 3\n", nil, []string{`unknown key "train.lr"; a file nests sections`}},
		{"an unknown key in a list", "jobs:\n- name: a\n  gpu: 3\n", nil,
			[]string{`run.yaml:3:3: unknown key "jobs[0].gpu"; did you mean "jobs[0].gpus"?`}},
		{"text for a number", "train: {lr: fast}\n", nil, []string{`run.yaml:1:13: train.lr: want a number, got "fast"`}},
		{"a quoted number", "seed: \"3\"\n", nil, []string{`seed: want an integer that fits uint64, got "3"`}},
		{"a fraction for an integer", "seed: 3.7\n", nil, []string{`seed: want an integer that fits uint64, got "3.7"`}},
		{"a negative for an unsigned", "seed: -1\n", nil, []string{`seed: want an integer that fits uint64, got "-1"`}},
		{"a number too large", "train: {small: 256}\n", nil, []string{`train.small: want an integer that fits uint8, got "256"`}},
		{"a number for text", "name: 3\n", nil, []string{`name: want a string, got "3"`}},
		{"yes for true", "train: {resume: yes}\n", nil, []string{`train.resume: want true or false, got "yes"`}},
		{"a bare number for a duration", "train: {timeout: 90}\n", nil, []string{`train.timeout: want a duration such as 90s or 1h30m, got "90"`}},
		{"not a number", "train: {lr: .nan}\n", nil, []string{`train.lr: want a number, got ".nan"`}},
		{"no value", "seed:\n", nil, []string{`seed: want an integer that fits uint64, got nothing`}},
		{"one for a list", "train: {hidden: 3}\n", nil, []string{`train.hidden: want a list, got "3"`}},
		{"text within a list", "train: {hidden: [3, x]}\n", nil, []string{`train.hidden[1]: want an integer that fits int, got "x"`}},
		{"a section for a value", "seed: {a: 1}\n", nil, []string{`seed: want an integer that fits uint64, got a section`}},
		{"a value for a section", "train: 3\n", nil, []string{`train: want a section of keys, got "3"`}},
		{"a list at the top", "- a\n", nil, []string{`run.yaml:1:1: want a section of keys, got a list`}},
		{"an alias", "name: &a x\nmode: *a\n", nil, []string{`run.yaml:2:7: mode: aliases are not supported`}},
		{"a merge", "train: &t {lr: 1}\n<<: *t\n", nil, []string{`run.yaml:2:1: want a plain key`}},
		{"two documents", "seed: 1\n---\nseed: 2\n", nil, []string{"more than one YAML document"}},
		{"no YAML", "a: [\n", nil, []string{"run.yaml: yaml"}},
		{"all complaints at once", "seed: x\ntrain: {lr: y}\n", []string{"z=1"}, []string{"seed: want", "train.lr: want", `--set: unknown key "z"`}},
		{"a set without a value", "", []string{"train.lr"}, []string{`--set: want key=value, got "train.lr"`}},
		{"a set of a section", "", []string{"train=3"}, []string{`--set: "train" is a section; set one of its keys`}},
		{"a set of a misspelled key", "", []string{"trian.lr=3"}, []string{`--set: unknown key "trian.lr"; did you mean "train.lr"?`}},
		{"a set of the wrong type", "", []string{"train.lr=abc"}, []string{`--set: train.lr: want a number, got "abc"`}},
		{"an empty set", "", []string{"train.lr="}, []string{`--set: train.lr: want a number, got ""`}},
		{"a set of bare words for a list", "", []string{"tags=a,b"}, []string{`--set: tags: want a list, got "a,b"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, list, err := read(t, c.text, Options{Sets: c.sets})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error\n%v\ndoes not say\n%s", err, want)
				}
			}
			if d := diff(defaults(), got); d != "" || list != nil {
				t.Errorf("the destination changed (-want +got):\n%s", d)
			}
		})
	}
}

func TestBadVariableNamesItself(t *testing.T) {
	t.Setenv("CLUSTERGYM_TRAIN_LR", "fast")
	_, _, err := read(t, "", Options{EnvPrefix: "CLUSTERGYM"})
	if want := `CLUSTERGYM_TRAIN_LR: train.lr: want a number, got "fast"`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestRefusesOversizedFiles(t *testing.T) {
	text := "# " + strings.Repeat("x", maxBytes-3) + "\n"
	if _, _, err := read(t, text, Options{}); err != nil {
		t.Errorf("%d bytes: %v", len(text), err)
	}
	if _, _, err := read(t, text+"\n", Options{}); err == nil {
		t.Errorf("%d bytes were accepted", len(text)+1)
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	must.Do(t, os.WriteFile(path, []byte("seed: 3\n"), 0o600))
	got := defaults()
	if _, err := Load(path, &got, Options{}); err != nil || got.Seed != 3 {
		t.Errorf("seed %d, %v", got.Seed, err)
	}
	if _, err := Load("", &got, Options{Sets: []string{"seed=4"}}); err != nil || got.Seed != 4 {
		t.Errorf("without a file: seed %d, %v", got.Seed, err)
	}
	if _, err := Load(path+".missing", &got, Options{}); err == nil {
		t.Error("a missing file was accepted")
	}
}

// TestListsAreReplacedWhole checks that the result neither shares the caller's default lists nor mixes them with new ones.
func TestListsAreReplacedWhole(t *testing.T) {
	got := defaults()
	before := got.Train.Hidden
	must.Get(Read(strings.NewReader("train: {hidden: [1]}\njobs: []"), "x", &got, Options{}))(t)
	if len(got.Train.Hidden) != 1 || len(got.Jobs) != 0 || before[0] != 64 {
		t.Errorf("hidden %v, jobs %v, default %v", got.Train.Hidden, got.Jobs, before)
	}
}

func TestStructsThatCannotBeSettingsPanic(t *testing.T) {
	for name, dst := range map[string]any{
		"not a pointer": settings{},
		"nil":           (*settings)(nil),
		"a map": &struct {
			Speed map[string]float64 `yaml:"speed"`
		}{},
		"a map in a list": &struct{ L []struct{ M map[string]int } }{},
		"a pointer":       &struct{ P *int }{},
		"keys alike but for case": &struct {
			A int `yaml:"gpu"`
			B int `yaml:"GPU"`
		}{},
		"a dotted key": &struct {
			A int `yaml:"a.b"`
		}{},
		"one variable for two keys": &struct {
			A struct{ B int }
			C int `yaml:"a_b"`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not panic", name)
				}
			}()
			_, _ = Read(strings.NewReader(""), "x", dst, Options{EnvPrefix: "X"})
		}()
	}
}

func TestNearest(t *testing.T) {
	names := []string{"epochs", "seed", "batch_size", "lr"}
	for word, want := range map[string]string{
		"epoch": "epochs", "Epochs": "epochs", "sede": "seed", "batchsize": "batch_size", "batch-sise": "batch_size",
		"l": "lr", "zz": "", "": "", "gamma": "",
	} {
		got, ok := Nearest(word, names)
		if got != want || ok != (want != "") {
			t.Errorf("Nearest(%q) = %q, %v, want %q", word, got, ok, want)
		}
	}
}
