package scenario

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

// TestEveryKeyIsDocumented checks that docs/scenarios.md contains every key, as `section.key` or, after another key of its
// section, as `.key`.
func TestEveryKeyIsDocumented(t *testing.T) {
	b := must.Get(os.ReadFile("../../docs/scenarios.md"))(t)
	text := string(b)
	var walk func(typ reflect.Type, section string)
	walk = func(typ reflect.Type, section string) {
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name == "" {
				name = strings.ToLower(f.Name)
			}
			switch {
			case !f.IsExported():
			case f.Type.Kind() == reflect.Struct:
				walk(f.Type, section+name+".")
			case strings.HasPrefix(section, "workload.mix."):
				if !strings.Contains(text, "`"+name+"`") {
					t.Errorf("docs/scenarios.md lacks %s%s", section, name)
				}
			case !strings.Contains(text, "`"+section+name+"`") && !strings.Contains(text, "`."+name+"`"):
				t.Errorf("docs/scenarios.md lacks %s%s", section, name)
			}
		}
	}
	walk(reflect.TypeFor[Scenario](), "")
	for _, name := range All() {
		if m, family := parseMember(name); family {
			name = m.trace
		}
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/scenarios.md lacks %s", name)
		}
	}
}
