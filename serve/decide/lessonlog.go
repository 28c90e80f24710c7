package decide

import (
	"log/slog"
	"time"

	"github.com/clustergym/clustergym/env/belief"
)

const (
	littleEarlier = time.Minute    // so much earlier than the last one a snapshot may be that came late, without a line in the log
	farLater      = 24 * time.Hour // so much later than the last one no snapshot of a cluster usually is
)

// tell logs when the decider no longer learns from the states of a cluster, and when it learns again. One state from the far
// future is enough to end learning, because the next ones are earlier. The caller holds mu.
func (m *memory) tell(log *slog.Logger, l *belief.Lesson, now time.Duration) {
	args := []any{"now_s", now.Seconds(), "last_s", l.Last.Seconds()}
	reason := l.Skipped
	if reason == belief.SkippedEarlier && l.Last-now <= littleEarlier {
		return
	}
	switch before := m.skipped; {
	case reason == "" && l.Last > 0 && now-l.Last >= farLater:
		log.Warn("snapshot far later than the last one: nothing is learned from earlier ones from now on", args...)
	case reason == before:
	case reason == belief.SkippedEarlier:
		log.Warn("nothing is learned from this snapshot and those that follow: it is earlier than the last one. "+
			"Learning goes on after last_s, or when the server starts again", args...)
	case reason == belief.SkippedElsewhere:
		log.Warn("nothing is learned from this snapshot: fewer than half of its servers are those of the last one. "+
			"If it is the same cluster, start the server again", args...)
	default:
		log.Info("learning goes on", args...)
	}
	m.skipped = reason
}
