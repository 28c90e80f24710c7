package train

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// BenchmarkLabels reports the CPU time of the first update of the released recipe: mostly labels of six windows, two of each
// scenario. The run validates one window of each scenario; with all twelve, validation would take most of the time.
func BenchmarkLabels(b *testing.B) {
	b.Setenv("CLUSTERGYM_SHARED", sharedtest.Dir(b))
	cfg := DefaultConfig()
	cfg.Updates, cfg.Expert, cfg.Validation, cfg.Windows, cfg.Choices = 1, 1, 1, 6, 2048
	cfg.Label, cfg.Explore, cfg.Memory, cfg.Margin = 0.06, 8, 2*time.Hour, 0.5
	opt := Options{Workers: 1}
	for _, name := range []string{"venus-load150-weak-moldable-warm-v1", "uplinks-warm-venus-v1", "hetero-warm-venus-v1"} {
		s := must.Get(scenario.Load(name))(b)
		opt.Scenarios = append(opt.Scenarios, s)
	}
	cpu := func() float64 {
		var u syscall.Rusage
		must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	}
	start := cpu()
	for b.Loop() {
		opt.Dir = filepath.Join(b.TempDir(), "run")
		mustRun(b, cfg, opt)
	}
	b.ReportMetric((cpu()-start)/float64(b.N), "cpu-s/op")
}
