// Package formattest fuzzes the readers of formats.
package formattest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/names"
)

// Format is a format with its reader and its writer.
type Format[T any] struct {
	Read  func(text []byte) (T, error)
	Write func(T) ([]byte, error)     // nil for a format that is only read
	Check func(t *testing.T, value T) // what else holds for all that is read; nil for nothing
	Bytes bool                        // it may have any bytes
}

const longestError = 1500 // bytes

// Fuzz checks that no text makes the reader panic; that errors are short, and safe to show on a terminal; that what was read can
// be written, has only texts that are safe to show, and reads alike after that. It also tries the first half of each seed.
func Fuzz[T any](f *testing.F, format Format[T], seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
		f.Add([]byte(seed[:len(seed)/2]))
	}
	f.Fuzz(func(t *testing.T, text []byte) { format.Try(t, text) })
}

// Try checks one text.
func (m *Format[T]) Try(t *testing.T, text []byte) {
	v, err := m.Read(text)
	if err != nil {
		if said := err.Error(); len(said) > longestError || !clean(said) {
			t.Fatalf("error of %d bytes: %q", len(said), said)
		}
		return
	}
	if m.Check != nil {
		m.Check(t, v)
	}
	if m.Write == nil {
		return
	}
	once, err := m.Write(v)
	if err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	if bad := unclean(once); bad != "" && !m.Bytes {
		t.Fatalf("accepted %q", bad)
	}
	again, err := m.Read(once)
	if err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, once)
	}
	if twice, err := m.Write(again); err != nil || !bytes.Equal(twice, once) {
		t.Fatalf("wrote\n%s\nread and wrote again, %v\n%s", once, err, twice)
	}
}

func clean(s string) bool { return names.Clean(strings.NewReplacer("\n", "", "\t", "").Replace(s)) }

// unclean returns a text in what was written that is not safe to show, "" if there is none. What was written is JSON values, or
// else text.
func unclean(text []byte) string {
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		switch s, _ := token.(string); {
		case errors.Is(err, io.EOF):
			return ""
		case err != nil && !clean(string(text)):
			return string(text)
		case err != nil:
			return ""
		case !names.Clean(s):
			return s
		}
	}
}
