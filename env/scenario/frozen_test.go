package scenario

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// frozen contains the first scenarios, and the first of coupled jobs, with a digest of all jobs of all their windows. They must
// not change, because published results refer to them.
var frozen = map[string]string{
	"embedded-small-v1":    "cab2d6b2be4e19ae315a19d68536a7477ec560cd226ac4c177aab0e0148e16f9",
	"venus-contended-v1":   "acdbadb9f72dac985719acf1415ead419060c85698f67c1987c9ef711dcfa244",
	"turns-small-v1":       "9574f2cb61b6e76d8c925d9965ab7806e2a0b1c6d8821d361821da0ae964fa8f",
	"power-small-v1":       "c182b3f856c47782f51ae13434528919f147a13218e2cfd3b96509beb35e8f58",
	"power-turns-small-v1": "a35298a7bc0788052836068b7cffabf02d3bcd2322abf63c7aaf32b1ee3c3442",
	"philly-contended-v1":  "e3d89078a32b308e50422b322f1b81aa0f84399710212b5aee6187ad0d3f3cc3",
}

func TestTheFirstScenariosNeverChange(t *testing.T) {
	for name, want := range frozen {
		t.Run(name, func(t *testing.T) {
			src := builtinSource(t, name)
			h := sha256.New()
			for _, split := range []Split{Train, Validation, Test} {
				for i := range src.Count(split) {
					e := must.Get(src.Episode(split, i, 7))(t)
					for k := range e.Jobs {
						j := &e.Jobs[k]
						fmt.Fprintln(h, e.Name, k, j.Name, j.User, j.Tenant, int64(j.Submit), j.Workers, j.MinWorkers, j.MaxWorkers,
							j.Request.GPUMilli, j.Request.CPUMilli, j.Request.MemMiB, j.Request.GPUMemMiB, j.Model, j.Group, j.Stages,
							j.Tensor, j.GPUType, j.Mixed, int64(j.Estimate), int64(j.Work), uint8(j.Status))
					}
				}
			}
			if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
				t.Errorf("digest %s, want %s", got, want)
			}
		})
	}
}

// TestDigestedTexts checks that keys which scenarios no longer have stay in what is digested: the three scenarios had all of them.
func TestDigestedTexts(t *testing.T) {
	h := sha256.New()
	for _, name := range []string{"phases-venus-v1", "varied-venus-v1", "loaning-small-untold-v1"} {
		s, err := Load(name)
		if err == nil {
			err = s.writeDigested(h)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const want = "df4de6344f69547e7218d5699defc95e8b0c4012499403eb40a88c2927cb41f6"
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// builtinSource opens a built-in scenario, with the shared traces if it needs one.
func builtinSource(t *testing.T, name string, sets ...string) *Source {
	t.Helper()
	s := must.Get(Load(name, sets...))(t)
	if s.Workload.Trace != Embedded {
		t.Setenv(SharedVariable, sharedtest.Dir(t))
	}
	return must.Get(s.Open())(t)
}
