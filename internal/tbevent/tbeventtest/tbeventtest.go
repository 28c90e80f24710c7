// Package tbeventtest reads event files in tests. Its reader is a Python script that shares no code with package tbevent.
package tbeventtest

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/needs"
)

// Event is one record of an event file. Exactly one of Version, Session and Summary is set.
type Event struct {
	Wall    float64  `json:"wall_time"` // seconds since 1970
	Step    int64    `json:"step"`
	Version string   `json:"file_version"`
	Session *Session `json:"session_log"`
	Summary *Summary `json:"summary"`
}

// Session is a SessionLog. Status 1 means start.
type Session struct {
	Status int `json:"status"`
}

// Summary contains the values of an event in order.
type Summary struct {
	Values []Value `json:"value"`
}

// Value is a scalar or a histogram.
type Value struct {
	Tag       string     `json:"tag"`
	Scalar    *Number    `json:"simple_value"`
	Histogram *Histogram `json:"histo"`
	Metadata  *Metadata  `json:"metadata"`
}

// Number is a number that may be NaN or infinite.
type Number float64

// UnmarshalJSON reads a number, or one of the strings nan, inf and -inf.
func (n *Number) UnmarshalJSON(b []byte) error {
	x, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*n = Number(x)
	return err
}

// Equal reports whether two numbers are equal, or both NaN.
func (n Number) Equal(m Number) bool {
	return n == m || math.IsNaN(float64(n)) && math.IsNaN(float64(m))
}

// Histogram is a HistogramProto.
type Histogram struct {
	Min     float64   `json:"min"`
	Max     float64   `json:"max"`
	Num     float64   `json:"num"`
	Sum     Number    `json:"sum"`
	Squares Number    `json:"sum_squares"`
	Limits  []float64 `json:"bucket_limit"`
	Buckets []float64 `json:"bucket"`
}

// Metadata is a SummaryMetadata.
type Metadata struct {
	Plugin struct {
		Name string `json:"plugin_name"`
	} `json:"plugin_data"`
	Description string `json:"summary_description"`
	DataClass   int    `json:"data_class"`
}

//go:embed read_events.py
var script string

// ErrTorn is returned for a file whose last record is cut short.
var ErrTorn = errors.New("torn")

// Read returns the events of the file at path. If the file is damaged, it returns the events before the fault and an error:
// ErrTorn, or an error with the script's message. If python3 is missing, Read skips the test, or fails it if CI=true.
func Read(tb testing.TB, path string) ([]Event, error) {
	tb.Helper()
	python := needs.Program(tb, needs.Python, "python3")
	cmd := exec.CommandContext(tb.Context(), python, "-", path)
	cmd.Stdin = strings.NewReader(script)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	fault := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(fault, &exit) && exit.ExitCode() == 3:
		fault = ErrTorn
	case fault != nil:
		fault = errors.New(strings.TrimSpace(said.String()) + " (" + fault.Error() + ")")
	}
	var events []Event
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var e Event
		dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&e); err != nil {
			tb.Fatalf("%s: event %d: %v", path, len(events), err)
		}
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return events, fault
}
