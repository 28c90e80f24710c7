// Package tbeventtest reads event files back for tests, by a reader that shares no code with package tbevent: a Python script.
package tbeventtest

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Event is one record of an event file. Exactly one of Version, Session and Summary is there.
type Event struct {
	Wall    float64  `json:"wall_time"` // seconds since 1970
	Step    int64    `json:"step"`
	Version string   `json:"file_version"`
	Session *Session `json:"session_log"`
	Summary *Summary `json:"summary"`
}

// Session is a SessionLog; a status of 1 is a start.
type Session struct {
	Status int `json:"status"`
}

// Summary holds the values of an event in their order.
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

// Number is one that need not be finite.
type Number float64

// UnmarshalJSON takes numbers, and the strings nan, inf and -inf.
func (n *Number) UnmarshalJSON(b []byte) error {
	x, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*n = Number(x)
	return err
}

// Equal is true of two that are no number.
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

// Read returns the events of the file at path, and those before the fault with an error: ErrTorn, or one with what the script
// said. Without python3 the test is skipped, unless CI=true, where that is a failure.
func Read(tb testing.TB, path string) ([]Event, error) {
	tb.Helper()
	python, err := exec.LookPath("python3")
	switch {
	case err != nil && os.Getenv("CI") == "true":
		tb.Fatal("there is no python3, by which event files are read back")
	case err != nil:
		tb.Skip("no python3 to read event files with")
	}
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
