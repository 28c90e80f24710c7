package perfetto

import (
	"bufio"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// writer writes events, each on its own line. Phase and time come first, because old readers search for them before they parse
// all escapes in a name.
type writer struct {
	buf    *bufio.Writer // keeps the first error
	b      []byte        // the current event
	count  int
	fields int // of the current object
	inArgs bool
}

func newWriter(w io.Writer) *writer {
	buf := bufio.NewWriterSize(w, 1<<16)
	buf.WriteString(`{"traceEvents":[`)
	return &writer{buf: buf}
}

// open begins an event. Metadata events have no time.
func (w *writer) open(phase byte) {
	w.b = append(w.b[:0], "\n{\"ph\":\""...)
	w.b = append(w.b, phase, '"')
	w.fields, w.inArgs = 1, false
}

func (w *writer) at(t time.Duration, pid, tid int, name string) {
	w.micros("ts", t)
	w.whole("pid", int64(pid))
	w.whole("tid", int64(tid))
	w.text("name", name)
}

// args opens the event's arguments; all fields written after it belong to them.
func (w *writer) args() {
	w.key("args")
	w.b = append(w.b, '{')
	w.fields, w.inArgs = 0, true
}

func (w *writer) close() {
	if w.inArgs {
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, '}')
	if w.count++; w.count > 1 {
		w.buf.WriteByte(',')
	}
	w.buf.Write(w.b)
}

// name writes the name of a process or a thread and its sort index.
func (w *writer) name(pid, tid int, kind, name string) {
	index := tid
	if kind == "process" {
		index = pid
	}
	for _, suffix := range []string{"_name", "_sort_index"} {
		w.open('M')
		w.whole("pid", int64(pid))
		w.whole("tid", int64(tid))
		w.text("name", kind+suffix)
		w.args()
		if suffix == "_name" {
			w.text("name", name)
		} else {
			w.whole("sort_index", int64(index))
		}
		w.close()
	}
}

func (w *writer) slice(s *eval.Stay, pid, tid int, name string) {
	w.open('X')
	w.at(s.From, pid, tid, name)
	w.micros("dur", s.To-s.From)
	w.text("cat", "job")
}

// flow joins a slice to the previous and the next slice of the same flow.
func (w *writer) flow(id int, in, out bool) {
	if !in && !out {
		return
	}
	w.text("bind_id", hex(id))
	if in {
		w.yes("flow_in")
	}
	if out {
		w.yes("flow_out")
	}
}

func (w *writer) wait(phase byte, at time.Duration, tid int, id cluster.JobID, name string) {
	w.open(phase)
	w.at(at, queuePID, tid, name)
	w.text("cat", "queue")
	w.text("id", hex(int(id)+1))
}

func (w *writer) instant(at time.Duration, pid, tid int, name string) {
	w.open('i')
	w.at(at, pid, tid, name)
	w.text("s", "t")
}

func (w *writer) counter(at time.Duration, tid int, name, unit string, milli int64) {
	w.open('C')
	w.at(at, clusterPID, tid, name)
	w.args()
	w.milli(unit, milli)
	w.close()
}

// end closes the list of events and writes metadata about the episode.
func (w *writer) end(log *sim.Log) error {
	w.buf.WriteString("\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":{")
	w.b, w.fields = w.b[:0], 0
	physics := "ideal"
	if log.Config.Physics != nil {
		physics = log.Config.Physics.Name()
	}
	w.text("program", "clustergym")
	w.text("scheduler", log.Scheduler)
	w.text("physics", physics)
	w.text("jobs", strconv.Itoa(len(log.Jobs)))
	switch {
	case log.Outcome.Terminated:
		w.text("end", "every job finished")
	case log.Outcome.Truncated != "":
		w.text("end", "cut off: "+log.Outcome.Truncated)
	}
	w.b = append(w.b, "}}\n"...)
	w.buf.Write(w.b)
	return w.buf.Flush()
}

func (w *writer) key(name string) {
	if w.fields++; w.fields > 1 {
		w.b = append(w.b, ',')
	}
	w.b = append(append(append(w.b, '"'), name...), '"', ':')
}

func (w *writer) text(name, value string) {
	w.key(name)
	w.b = appendText(w.b, value)
}

// some writes a text field unless the value is empty.
func (w *writer) some(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *writer) yes(name string) {
	w.key(name)
	w.b = append(w.b, "true"...)
}

func (w *writer) whole(name string, n int64) {
	w.key(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *writer) milli(name string, n int64) {
	w.key(name)
	w.b = appendMilli(w.b, n)
}

func (w *writer) micros(name string, d time.Duration) {
	w.key(name)
	w.b = appendDecimal(w.b, int64(d), 3)
}

func (w *writer) seconds(name string, d time.Duration) {
	w.key(name)
	w.b = appendDecimal(w.b, int64(d), 9)
}

func appendMilli(b []byte, n int64) []byte { return appendDecimal(b, n, 3) }

// appendDecimal appends n / 10^places exactly, without trailing zeros. n must be 0 or more.
func appendDecimal(b []byte, n int64, places int) []byte {
	unit := int64(1)
	for range places {
		unit *= 10
	}
	b = strconv.AppendInt(b, n/unit, 10)
	if n %= unit; n == 0 {
		return b
	}
	b = append(b, '.')
	for ; n > 0; n %= unit {
		unit /= 10
		b = append(b, byte('0'+n/unit))
	}
	return b
}

// appendText appends a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return append(b, '"')
}

func hex(n int) string { return "0x" + strconv.FormatInt(int64(n), 16) }
