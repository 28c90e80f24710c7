package eval_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestReadingsChangeNoMetric checks that readings in a log change no metric of it.
func TestReadingsChangeNoMetric(t *testing.T) {
	simtest.Many(t, 500, func(t *rapid.T) {
		e := simtest.Draw(t)
		var all [2]string
		for i := range all {
			e.Config.Readings.Interval = time.Duration(i) * time.Minute
			sched := must.Get(baselines.New("sjfskip"))(t)
			s := simtest.Begin(t, e)
			log := simtest.End(t, s, sched)
			m := eval.Measure(log)
			m.Events = 0 // readings are records, too
			all[i] = fmt.Sprintf("%+v\n%+v", m, eval.Rows(log))
		}
		if all[0] != all[1] {
			t.Fatalf("%s\nwith readings\n%s", all[0], all[1])
		}
	})
}
