package recording

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clustergym/clustergym/internal/must"
)

var update = flag.Bool("update", false, "draw docs/img/tour.svg again")

// TestTheRecordingShowsTheTour checks that the recording in docs is drawn from the block of the README, which another test compares
// with what the commands print.
func TestTheRecordingShowsTheTour(t *testing.T) {
	page := must.Get(os.ReadFile("../../README.md"))(t)
	lines := must.Get(Block(string(page)))(t)
	const path = "../../docs/img/tour.svg"
	got := SVG(lines)
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o666))
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != got {
		t.Errorf("%s is not what the README shows, error %v: run make recording", path, err)
	}
	if len(got) > 20_000 {
		t.Errorf("%d bytes, want a small file", len(got))
	}
	text := textOf(t, got)
	for _, line := range lines {
		for word := range strings.FieldsSeq(line) {
			if !strings.Contains(text, word) {
				t.Errorf("the recording lacks %q", word)
			}
		}
	}
}

// textOf returns the text of an SVG, and fails if that is not well-formed or wider than the drawing.
func textOf(t *testing.T, svg string) string {
	t.Helper()
	var b strings.Builder
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		must.Do(t, err)
		if s, ok := token.(xml.CharData); ok {
			b.Write(s)
		}
	}
}

func TestFolded(t *testing.T) {
	text := "$ " + strings.Repeat("word ", 60) + "<&>"
	parts := folded(text)
	if len(parts) < 3 || strings.Join(strings.Fields(strings.Join(parts, " ")), " ") != text {
		t.Errorf("folded into %q", parts)
	}
	for _, p := range parts {
		if utf8.RuneCountInString(p) > columns {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(p), p)
		}
	}
	if long := folded(strings.Repeat("x", 250)); len(long) != 3 {
		t.Errorf("a long word is folded into %d lines, want 3", len(long))
	}
	if _, err := Block("no block"); err == nil {
		t.Error("a page without a block: no error")
	}
}
