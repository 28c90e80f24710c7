package trace

import "fmt"

var statusNames = [...]string{Unknown: "unknown", Passed: "passed", Failed: "failed", Killed: "killed"}

// String returns the name of the status: unknown, passed, failed or killed.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// parseStatus is the inverse of String. The empty string means Unknown.
func parseStatus(name string) (Status, error) {
	if name == "" {
		return Unknown, nil
	}
	for s, n := range statusNames {
		if n == name {
			return Status(s), nil
		}
	}
	return Unknown, fmt.Errorf("parse status %q: want unknown, passed, failed or killed", name)
}
