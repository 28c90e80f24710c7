package cli

import (
	"testing"

	"github.com/clustergym/clustergym/train"
)

func TestSavedTextShowsEveryValidation(t *testing.T) {
	at := func(update int, relative float64) train.Metrics {
		return train.Metrics{Update: update, Validation: &relative}
	}
	got := savedText([]train.Metrics{{Update: 1}, at(5, 1), {Update: 6}, at(10, .973), at(15, 1.04)})
	want := `What the team saves of its prior's mean JCT on validation windows:

update  saved, %
     0       0.0
     5       0.0
    10       2.7  #####
    15      -4.0
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := savedText([]train.Metrics{{Update: 1}}); got != "" {
		t.Errorf("without a validation: %q", got)
	}
}
