package eval

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/sim"
)

// TestMeterOfALogThatForgets checks that a meter that reads the log while the episode is played, now and then, gives the same
// metrics and rows as the whole log, though the log forgets what the meter has read.
func TestMeterOfALogThatForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, seed := drawEpisode(t), rapid.Uint64().Draw(t, "seed")
		whole := playEpisode(t, &e, seed, nil).Log()
		every := rapid.IntRange(1, 5).Draw(t, "every")
		var m *Meter
		stretches := 0
		last := playEpisode(t, &e, seed, func(log *sim.Log) {
			if m == nil {
				m = NewMeter(log)
			}
			if stretches++; stretches%every == 0 {
				m.Follow()
				log.Forget()
			}
		}).Log()
		if m == nil {
			m = NewMeter(last)
		}
		m.Follow()
		if got, want := m.Metrics(), Measure(whole); got != want {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
		if got, want := m.Rows(), Rows(whole); !slices.Equal(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
		if n := last.Forgotten(); n+len(last.Records) != len(whole.Records) {
			t.Fatalf("%d records forgotten, %d left, of %d", n, len(last.Records), len(whole.Records))
		} else if err := last.Write(&strings.Builder{}); n > 0 && (err == nil || !strings.Contains(err.Error(), "were forgotten")) {
			t.Fatalf("wrote a log without its first %d records: %v", n, err)
		}
	})
}
