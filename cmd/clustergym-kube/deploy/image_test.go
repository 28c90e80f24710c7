package deploy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

// TestTheImageIsPinned checks that the image is made of nothing whose contents may change: its base is empty or named by digest,
// and it copies only what make kube-image built, with a toolchain of an exact version.
func TestTheImageIsPinned(t *testing.T) {
	text := must.Get(os.ReadFile("Dockerfile"))(t)
	pinned := regexp.MustCompile(`^FROM (scratch|\S+@sha256:[0-9a-f]{64})( AS \w+)?$`)
	copied := regexp.MustCompile(`^COPY (--from=\w+ )?\S*clustergym-kube /clustergym-kube$`)
	bases := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		word, _, _ := strings.Cut(line, " ")
		switch {
		case word == "FROM" && !pinned.MatchString(line):
			t.Errorf("%q is not named by digest", line)
		case word == "COPY" && !copied.MatchString(line):
			t.Errorf("%q copies more than the program", line)
		case word == "RUN" || word == "ADD":
			t.Errorf("%q may depend on what is fetched", line)
		case word == "FROM":
			bases++
		}
	}
	if bases == 0 {
		t.Error("the image has no base")
	}
	makefile := must.Get(os.ReadFile("../../../Makefile"))(t)
	if !regexp.MustCompile(`(?m)^IMAGE_GO\s*:= go\d+\.\d+\.\d+$`).Match(makefile) {
		t.Error("IMAGE_GO in the Makefile is no exact version of Go")
	}
}
