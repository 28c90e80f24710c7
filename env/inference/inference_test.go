package inference_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

const (
	five   = 5 * time.Minute
	perDay = 288
	day    = 24 * time.Hour
)

// serveGen reads one of ServeGen's services.
func serveGen(t *testing.T, name string) inference.Series {
	t.Helper()
	return must.Get(inference.ReadServeGen(filepath.Join(sharedtest.Dir(t), "traces/servegen-llm-2025", name+"_traces.tar.gz")))(t)
}

// usage resamples rates to five minutes and scales them so that their peak uses 95 % of the pool.
func usage(t *testing.T, rates inference.Series, seed uint64) inference.Series {
	t.Helper()
	s := must.Get(rates.Resample(five, rng.Stream(seed, "resample")))(t)
	return must.Get(s.Usage(1, 0.95))(t)
}

func filled(s inference.Series) int {
	n := 0
	for i := range s.Values {
		if s.IsFilled(i) {
			n++
		}
	}
	return n
}
