package train

// endsEarly reports whether the run has ended after an update because of Config.Patience: best is the update after which the team
// had the best weights so far. Without Patience no run ends early.
//
// What counts are the validations since best, and of these only those in the last part of the run: a curriculum plays other
// workloads first, draws learn what labels cannot teach, and an extension was asked for.
func (c *Config) endsEarly(update, best int) bool {
	if c.Patience == 0 {
		return false
	}
	staged := 0
	for _, s := range c.Curriculum {
		staged += s.Updates
	}
	since := max(best, staged)
	if c.Expert < c.Updates {
		since = max(since, c.Expert)
	}
	for _, part := range c.Extended {
		if part.Until <= update {
			since = max(since, part.Until)
		}
	}
	validations := 0
	for u := since + 1; u <= update; u++ {
		if c.due(u) {
			validations++
		}
	}
	return validations >= c.Patience
}
