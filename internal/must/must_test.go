package must_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

// recorder is a test that goes on after its end.
type recorder struct{ ended []any }

func (*recorder) Helper()             {}
func (r *recorder) Fatal(args ...any) { r.ended = append(r.ended, args...) }

func TestErrorsEndTests(t *testing.T) {
	var r recorder
	broken := errors.New("broken")
	must.Do(&r, nil)
	if v := must.Get(7, nil)(&r); v != 7 || len(r.ended) > 0 {
		t.Errorf("got %d, ended with %v", v, r.ended)
	}
	must.Do(&r, broken)
	must.Get(7, broken)(&r)
	if want := []any{broken, broken}; !slices.Equal(r.ended, want) {
		t.Errorf("ended with %v, want twice the error", r.ended)
	}
}
