package browser

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

// TestThePageListsWhatIsAllowed checks that the form of docs/try.md lists the policies, and that its fields have the limits, that
// a request may have.
func TestThePageListsWhatIsAllowed(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/try.md"))(t)
	for _, name := range []string{"first", "second"} {
		list := regexp.MustCompile(`<select name="` + name + `">(.*)</select>`).FindStringSubmatch(string(text))
		if list == nil {
			t.Fatalf("no list of the %s policy", name)
		}
		var got []string
		for _, m := range regexp.MustCompile(`<option[^>]*>([^<]*)</option>`).FindAllStringSubmatch(list[1], -1) {
			got = append(got, m[1])
		}
		if !slices.Equal(got, Policies()) {
			t.Errorf("%s policy: %q, want %q", name, got, Policies())
		}
	}
	for _, field := range []string{
		`name="servers" type="number" min="1" max="32"`, `name="gpus" type="number" min="1" max="8"`,
		`name="jobs" type="number" min="1" max="500"`, `name="load" type="number" min="0.1" max="4"`,
	} {
		if !strings.Contains(string(text), field) {
			t.Errorf("the form lacks %s", field)
		}
	}
}

// TestTheProgramForBrowsersBuilds checks that the simulator compiles to WebAssembly, which only make site does otherwise.
func TestTheProgramForBrowsersBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the standard library for another platform")
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", os.DevNull, "./cmd/clustergym-browser")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
