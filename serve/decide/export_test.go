package decide

// What tests outside the package hold to.
const (
	LogVersion     = logVersion
	ReasonBusy     = reasonBusy
	ReasonDeadline = reasonDeadline
	ReasonError    = reasonError
	ReasonPanic    = reasonPanic
)
