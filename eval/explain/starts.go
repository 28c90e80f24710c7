package explain

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/phrase"
)

// Start is when a waiting job is expected to start: in seconds from now, nil if it is not expected to at all. The answer and the
// log contain no other forecast, and a replay does not compare it.
type Start struct {
	Job    string   `json:"job"`
	Median *float64 `json:"median_s"` // it starts earlier in half of the cases
	P90    *float64 `json:"p90_s"`    // it starts earlier in nine of ten cases
}

// NewStart returns the Start for times from now on; cluster.Never is nil.
func NewStart(job string, median, p90 time.Duration) Start {
	seconds := func(t time.Duration) *float64 {
		if t == cluster.Never {
			return nil
		}
		return new(t.Seconds())
	}
	return Start{job, seconds(median), seconds(p90)}
}

// When says when the job is expected to start: "in about 20.0min, in 9 of 10 cases within 3.0h".
func (s *Start) When() string {
	if s.Median == nil {
		return "not in the foreseeable future"
	}
	text := "in about " + phrase.Seconds(*s.Median)
	if s.P90 != nil {
		text += ", in 9 of 10 cases within " + phrase.Seconds(*s.P90)
	}
	return text
}
