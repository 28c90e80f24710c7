package train

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/internal/config"
	"github.com/clustergym/clustergym/internal/must"
)

// TestMeaningsNameEverySettingOnce checks that each setting is explained, in the order of Config, and nothing else.
func TestMeaningsNameEverySettingOnce(t *testing.T) {
	c := DefaultConfig()
	settings := must.Get(config.Load("", &c, config.Options{}))(t)
	var want, got []string
	for _, s := range settings {
		want = append(want, s.Key)
	}
	for _, m := range Meanings() {
		got = append(got, m.Key)
		if !strings.HasSuffix(m.Means, ".") {
			t.Errorf("%s: %q, want a sentence", m.Key, m.Means)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("settings without a meaning, or the reverse (-settings +meanings):\n%s", d)
	}
}

// TestTrainingPageExplainsSettings checks that the page contains all meanings, row by row.
func TestTrainingPageExplainsSettings(t *testing.T) {
	text := must.Get(os.ReadFile("../docs/training.md"))(t)
	rows := ""
	for _, m := range Meanings() {
		rows += "| `train." + m.Key + "` | " + m.Means + " |\n"
	}
	if !strings.Contains(string(text), "\n| setting | meaning |\n|---|---|\n"+rows+"\n") {
		t.Errorf("docs/training.md lacks this table:\n| setting | meaning |\n|---|---|\n%s", rows)
	}
}
