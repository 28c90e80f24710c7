package decide

// These names are for tests outside the package.
const (
	LogVersion     = logVersion
	ReasonBusy     = reasonBusy
	ReasonDeadline = reasonDeadline
	ReasonError    = reasonError
	ReasonPanic    = reasonPanic
)
