package trace

import (
	"fmt"
	"strings"
)

var statusNames = [...]string{Unknown: "unknown", Passed: "passed", Failed: "failed", Killed: "killed"}

// String returns the name of the status: unknown, passed, failed or killed.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// states are words that traces use for how a job ended.
var states = map[string]Status{
	"": Unknown, "unknown": Unknown, "nan": Unknown, "none": Unknown, "null": Unknown,
	"passed": Passed, "pass": Passed, "completed": Passed, "complete": Passed, "success": Passed, "succeeded": Passed,
	"successful": Passed, "finished": Passed, "terminated": Passed, "done": Passed, "cd": Passed,
	"failed": Failed, "fail": Failed, "failure": Failed, "error": Failed, "timeout": Failed, "node_fail": Failed,
	"out_of_memory": Failed, "oom": Failed, "boot_fail": Failed, "deadline": Failed, "launch_failed": Failed,
	"killed": Killed, "cancelled": Killed, "canceled": Killed, "preempted": Killed, "aborted": Killed, "stopped": Killed,
	"interrupted": Killed, "revoked": Killed,
}

// parseState reads how a job ended, in the words of this project and of others: capitals do not count, nor does who cancelled
// (CANCELLED by 1001). A job that has not ended yet is no job of a trace; why then says so.
func parseState(s string) (status Status, why verdict, ok bool) {
	word := strings.ToLower(s)
	if who, by, found := strings.Cut(word, " by "); found && by != "" {
		word = who
	}
	switch word {
	case "running", "suspended", "completing", "stopping", "requeued", "resizing":
		return Unknown, isUnended, true
	case "pending", "waiting", "queued", "submitted", "ready":
		return Unknown, isNeverScheduled, true
	}
	status, ok = states[word]
	return status, isJob, ok
}
