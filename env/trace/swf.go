package trace

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// swfLayout is that of the Standard Workload Format, version 2.2, of the Parallel Workloads Archive: comments that begin with a
// semicolon, then a row a job with 18 numbers, of which -1 is missing. It counts processors. Options.Columns say which of them
// count as GPUs, as in num_gpu=processors. Source: https://www.cs.huji.ac.il/labs/parallel/workload/swf.html.
func swfLayout() layout {
	return layout{
		format: SWF, id: "job_id", submit: "submit_time", parse: parseSWF, looks: looksSWF, open: openSWF,
		required: []string{"job_number", "submit", "wait", "run_time", "processors", "cpu_time", "memory", "requested_processors",
			"requested_time", "requested_memory", "swf_status", "user_id", "group_id", "executable", "queue", "partition",
			"preceding_job", "think_time"},
		given: Columns{"job_id=job_number", "submit_time=submit", "duration=run_time", "user=user_id", "tenant=group_id",
			"status=swf_status"},
		needs: formatError("this file has the Standard Workload Format, which counts processors and has no GPUs: add " +
			"--columns num_gpu=processors to take each processor for a GPU, or num_gpu=requested_processors"),
	}
}

// swfPart marks a row that tells a part of what another row tells.
const swfPart = "part"

// swfStatus translates statuses into those of the native format.
var swfStatus = map[string]string{"0": "failed", "1": "passed", "5": "killed", "-1": "", "2": swfPart, "3": swfPart, "4": swfPart}

const isPart verdict = "tell of a part of a job that another row tells of as a whole"

// parseSWF reads a job, of which the rows below have translated the status and what is missing.
func parseSWF(r *Reader, row *row) (Job, verdict, error) {
	if row.get("status") == swfPart {
		return Job{}, isPart, nil
	}
	return parseNative(r, row)
}

// looksSWF reports whether a file begins with a comment of the format, or with a row of numbers.
func looksSWF(head []byte) bool {
	comments := false
	for line := range bytes.Lines(head) {
		text := strings.TrimSpace(string(line))
		comment, ok := strings.CutPrefix(text, ";")
		switch {
		case text == "":
		case ok && (comments || !strings.Contains(comment, ";") || strings.Contains(comment, ":")):
			comments = true
		case ok:
			return false // a table with semicolons, whose index has no name
		default:
			fields := strings.Fields(text)
			return (comments || len(fields) > 9) && !slices.ContainsFunc(fields, func(s string) bool {
				return !isNumber(strings.TrimPrefix(s, "-"))
			})
		}
	}
	return comments
}

// swfRows are the rows of a file in the Standard Workload Format.
type swfRows struct{ textRows }

func openSWF(in *bufio.Reader, opt Options) (source, []string, error) {
	return &swfRows{textRows{lines: newLines(in, opt)}}, swfLayout().required, nil
}

func (s *swfRows) next() error {
	for {
		if err := s.textRows.next(); err != nil || !strings.HasPrefix(strings.TrimSpace(s.line), ";") {
			return err
		}
	}
}

func (s *swfRows) fields(into []string) ([]string, error) {
	for field := range strings.FieldsSeq(s.line) {
		if number := plain(field); number == "-1" || number == "-1.0" || number == "-1.00" {
			field = "-1"
		}
		into = append(into, field)
	}
	const status = 10
	if len(into) != 18 {
		return nil, fmt.Errorf("%d fields, want the 18 of the Standard Workload Format", len(into))
	}
	how, ok := swfStatus[into[status]]
	if !ok {
		return nil, columnError{"status", into[status], "0 (failed), 1 (completed), 2 to 4 (parts of a job), 5 (cancelled) or -1"}
	}
	for i, field := range into {
		if field == "-1" {
			into[i] = ""
		}
	}
	into[status] = how
	return into, nil
}
