package pods

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/internal/names"
)

// Terms are what users state about a gang. A missing or invalid value is zero.
type Terms struct {
	Min, Max int32 // pods of an elastic gang
	Estimate time.Duration
	Model    string
}

// LongestEstimate is the longest run time that a user may state.
const LongestEstimate = 100 * 365 * 24 * time.Hour

// Terms reads the annotations of a gang: those of the group's object, and otherwise of the first of some pods that has the key.
// It reads those about the gang's size only if the gang is elastic. The errors name the object, the annotation, its value and
// what was expected.
func (c *Gang) Terms(of []*Pod, elastic bool) (t Terms, wrong []error) {
	failed := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	count := func(key string, least int32) int32 {
		object, value, said := c.annotation(of, key)
		if !said || !elastic {
			return 0
		}
		n, err := Count(object, "annotation "+key, value)
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case n < least:
			failed("%s: annotation %s is %d, want at least %d", object, key, n, least)
		default:
			return n
		}
		return 0
	}
	t.Min = count(MinWorkersNote, c.Least)
	t.Max = count(MaxWorkersNote, max(c.Least, t.Min))
	if object, value, said := c.annotation(of, EstimateNote); said {
		if d, err := time.ParseDuration(value); err == nil && d > 0 && d <= LongestEstimate {
			t.Estimate = d
		} else {
			failed("%s: annotation %s is %.100q, want a duration above 0 and up to 100 years, as 90m or 36h", object, EstimateNote, value)
		}
	}
	if object, value, said := c.annotation(of, ModelNote); said {
		if t.Model = value; !names.OK(value) {
			t.Model = ""
			failed("%s: annotation %s is %.100q, want at most %d bytes, all printable", object, ModelNote, value, names.Longest)
		}
	}
	return t, wrong
}

// annotation looks for a key on the object of the group and then on the pods. It returns the object that has the key, and the
// value.
func (c *Gang) annotation(of []*Pod, key string) (object, value string, said bool) {
	if value, said = c.Annotations[key]; said {
		return "group " + c.Title(), value, true
	}
	for _, p := range of {
		if value, said = p.Annotations[key]; said {
			return "pod " + p.Title(), value, true
		}
	}
	return "", "", false
}
