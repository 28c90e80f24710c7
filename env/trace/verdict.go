package trace

// verdict says why a readable row is no job, as a verb phrase about several rows. The empty one is that of a job.
type verdict string

const (
	isJob            verdict = ""
	isCPUOnly        verdict = "ask for no GPU"
	isNeverScheduled verdict = "were never scheduled"
	isUnended        verdict = "have not ended"
	isRepeated       verdict = "repeat an earlier row"
	hasNoSize        verdict = "do not say how many GPUs"
	hasNoSubmit      verdict = "have no submit time"
	hasNoStart       verdict = "have no start"
	hasNoEnd         verdict = "have no end"
	hasNoDuration    verdict = "have no duration"
	ranForNoTime     verdict = "ran for no time"
)
