package all

import (
	"errors"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/asrpt"
	"github.com/clustergym/clustergym/baselines/predict"
)

// TestFitted checks that the policies that ask for a fitted predictor, and only these, need and use the one that is given.
func TestFitted(t *testing.T) {
	for name, fits := range map[string]bool{
		"a-srpt": false, "a-srpt:predictor=forest": false, "a-srpt:predictor=granted+menu": false,
		"a-srpt:predictor=fitted": true, "a-srpt:backfill=easy:predictor=fitted:tau=1": true,
		"a-srpt:predictor=fitted+menu": true, "a-srpt:predictor=fitted+loan": true,
		"a-srpt:predictor=fitted+menu+move+loan": true,
	} {
		spec, err := Table().Parse(name)
		if got := spec.Needs(); err != nil || got != (baselines.Needs{Fitted: fits}) {
			t.Errorf("%s needs %+v, want a fitted predictor: %v, error %v", name, got, fits, err)
		}
		_, err = New(name)
		if fits != errors.Is(err, baselines.ErrUnfitted) || !fits && err != nil {
			t.Errorf("%s, given nothing: error %v", name, err)
		}
		given := 0
		g := baselines.Given{Fitted: func() asrpt.Predictor { given++; return predict.NewForest(predict.DefaultForest()) }}
		if s, err := spec.New(g); err != nil || s.Name() != name || s.Reset(1) != nil || (given > 0) != fits {
			t.Errorf("%s: given %d predictors, error %v", name, given, err)
		}
	}
}

func TestFittedMistakes(t *testing.T) {
	for name, want := range map[string]string{
		"a-srpt:predictor=fit":              `character 8: option predictor: predictor "fit": want one of granted,`,
		"a-srpt:predictor=fitted:tau=short": "option tau:",
		"a-srpt:predictor=fitted+move:x=1":  "option",
		"a-srpt:backfill=perhaps":           `option backfill: "perhaps", want one of false, true, easy`,
	} {
		if _, err := Table().Parse(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", name, err, want)
		}
	}
	_, err := New("a-srpt:predictor=fitted")
	const want = `policy "a-srpt:predictor=fitted": option predictor: this needs a scenario and its training split, which are known` +
		` only in eval; otherwise want a file that clustergym-studies predictor fit wrote`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
