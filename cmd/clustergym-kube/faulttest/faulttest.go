// Package faulttest contains what the two soak tests of clustergym-kube share: the faults that a request of the program can meet,
// nonsense for annotations and the ledger, and the table of how often each fault was made. One test makes them on an API server
// in memory (package control), the other on a real one (package e2e). The product does not use this package.
package faulttest

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
	KilledBefore = "program killed before a request"
	KilledAfter  = "program killed after a request was carried out"
	Unavailable  = "request refused: unavailable (503)"
	TooMany      = "request refused: too many (429)"
	Conflict     = "request refused: conflict (409)"
	Forbidden    = "request refused: forbidden (403)"
	LostBefore   = "request lost"
	LostAfter    = "answer lost"
	Slow         = "answer slow"
	SlowLost     = "answer slow, and lost"
	FirstRival   = "another scheduler binds the pod first"
	FillRival    = "another scheduler takes GPUs of the node first"
)

// Requests are all of these faults. Nobody may change it.
var Requests = []string{
	KilledBefore, KilledAfter, Unavailable, TooMany, Conflict, Forbidden, LostBefore, LostAfter, Slow, SlowLost,
	FirstRival, FillRival,
}

var refusals = map[string]metav1.Status{
	Unavailable: {Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable},
	TooMany:     {Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests},
	Conflict:    {Code: http.StatusConflict, Reason: metav1.StatusReasonConflict},
	Forbidden:   {Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden},
}

// Refusal returns the answer of an API server that refuses a request with this fault; ok is false for another kind of fault.
func Refusal(fault string) (s metav1.Status, ok bool) {
	s, ok = refusals[fault]
	s.TypeMeta, s.Status, s.Message = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, metav1.StatusFailure, fault
	return s, ok
}

// Words are values that no annotation may have. Nobody may change it.
var Words = []string{"", "-1", "many", "99999999999999999999", "1e9", "\x00\x1b[31m", "{", strings.Repeat("x", 5000), "NaN", "½"}

// Ledger is a text that the ledger of stops may not have.
const Ledger = `[1, "two", `

// Table returns a line for each kind of fault with its number, in the order of the kinds.
func Table(counts map[string]int) string {
	var text strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&text, "%7d %s\n", counts[kind], kind)
	}
	return text.String()
}
