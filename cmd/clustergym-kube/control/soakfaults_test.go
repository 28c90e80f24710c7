package control

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The faults that a request can meet.
const (
	killedBefore = "program killed before a request"
	killedAfter  = "program killed after a request was carried out"
	unavailable  = "request refused: unavailable (503)"
	tooMany      = "request refused: too many (429)"
	conflict     = "request refused: conflict (409)"
	forbidden    = "request refused: forbidden (403)"
	lostBefore   = "request lost"
	lostAfter    = "answer lost"
	slow         = "answer slow"
	slowLost     = "answer slow, and lost"
	firstRival   = "another scheduler binds the pod first"
	fillRival    = "another scheduler takes GPUs of the node first"
)

// requestFaults are all of these faults.
var requestFaults = []string{
	killedBefore, killedAfter, unavailable, tooMany, conflict, forbidden, lostBefore, lostAfter, slow, slowLost,
	firstRival, fillRival,
}

var refusals = map[string]metav1.Status{
	unavailable: {Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable},
	tooMany:     {Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests},
	conflict:    {Code: http.StatusConflict, Reason: metav1.StatusReasonConflict},
	forbidden:   {Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden},
}

// refusal returns the answer of an API server that refuses a request with this fault; ok is false for another kind of fault.
func refusal(fault string) (s metav1.Status, ok bool) {
	s, ok = refusals[fault]
	s.TypeMeta, s.Status, s.Message = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, metav1.StatusFailure, fault
	return s, ok
}

// garbageWords are values that no annotation may have.
var garbageWords = []string{"", "-1", "many", "99999999999999999999", "1e9", "\x00\x1b[31m", "{", strings.Repeat("x", 5000), "NaN", "½"}

// garbageStops is a text that the ledger of stops may not have.
const garbageStops = `[1, "two", `

// faultTable returns a line for each kind of fault with its number, in the order of the kinds.
func faultTable(counts map[string]int) string {
	var text strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&text, "%7d %s\n", counts[kind], kind)
	}
	return text.String()
}
