package perfetto

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// document is a file in the object form of the Trace Event Format.
type document struct {
	TraceEvents     []event           `json:"traceEvents"`
	DisplayTimeUnit string            `json:"displayTimeUnit"`
	OtherData       map[string]string `json:"otherData"`
}

// event has the fields that the format defines for the phases that this package writes.
type event struct {
	Ph      string         `json:"ph"`
	Ts      *json.Number   `json:"ts,omitempty"`
	Dur     *json.Number   `json:"dur,omitempty"`
	Pid     *int           `json:"pid,omitempty"`
	Tid     *int           `json:"tid,omitempty"`
	Name    *string        `json:"name,omitempty"`
	Cat     *string        `json:"cat,omitempty"`
	ID      *string        `json:"id,omitempty"`
	S       *string        `json:"s,omitempty"`
	BindID  *string        `json:"bind_id,omitempty"`
	FlowIn  *bool          `json:"flow_in,omitempty"`
	FlowOut *bool          `json:"flow_out,omitempty"`
	Args    map[string]any `json:"args,omitempty"`
}

// fieldsOf lists the fields that an event of each phase must have and, after the bar, those that it may have.
func fieldsOf() map[string]string {
	return map[string]string{
		"M": "pid tid name args",
		"X": "ts dur pid tid name cat args | bind_id flow_in flow_out",
		"i": "ts pid tid name s | args",
		"C": "ts pid tid name args",
		"b": "ts pid tid name cat id args",
		"e": "ts pid tid name cat id",
	}
}

func (e *event) has() map[string]bool {
	return map[string]bool{
		"ts": e.Ts != nil, "dur": e.Dur != nil, "pid": e.Pid != nil, "tid": e.Tid != nil, "name": e.Name != nil, "cat": e.Cat != nil,
		"id": e.ID != nil, "s": e.S != nil, "bind_id": e.BindID != nil, "flow_in": e.FlowIn != nil, "flow_out": e.FlowOut != nil,
		"args": e.Args != nil,
	}
}

// parse parses a document and returns an error for fields that the format does not define.
func parse(text []byte) (*document, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	var doc document
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("more than one value")
	}
	return &doc, nil
}

// check checks a document against the format and against the log that it was made from.
func check(doc *document, log *sim.Log) error {
	if doc.DisplayTimeUnit != "ms" {
		return fmt.Errorf("unit %q", doc.DisplayTimeUnit)
	}
	c := checker{log: log, processes: map[int]string{}, threads: map[int]thread{}, slices: map[int][]slice{}}
	if n := len(log.Records); n > 0 {
		c.until = int64(log.Records[n-1].At)
	}
	for i := range doc.TraceEvents {
		if err := c.fields(&doc.TraceEvents[i]); err != nil {
			b, _ := json.Marshal(doc.TraceEvents[i])
			return fmt.Errorf("event %d %s: %w", i, b, err)
		}
	}
	for i := range doc.TraceEvents {
		if err := c.event(&doc.TraceEvents[i]); err != nil {
			b, _ := json.Marshal(doc.TraceEvents[i])
			return fmt.Errorf("event %d %s: %w", i, b, err)
		}
	}
	return errors.Join(c.overlaps(), c.lowest(), c.gpuTime(), c.flowsEnd(), c.waitsEnd(), c.counts())
}

type checker struct {
	log       *sim.Log
	until     int64
	last      int64 // time of the latest event other than metadata
	processes map[int]string
	threads   map[int]thread
	slices    map[int][]slice // by thread
	flows     map[string]int8 // 1: continues, 2: has ended
	waits     map[string]int  // number of open slices of the queue, by id and name
	waited    int64           // total time of all waits
	samples   map[string][]sample
}

type thread struct {
	pid  int
	name string
}

type slice struct{ from, to, milli int64 }

type sample struct {
	at    int64
	value float64
}

// fields checks the form of an event and records the names of processes and threads.
func (c *checker) fields(e *event) error {
	rule, known := fieldsOf()[e.Ph]
	if !known {
		return fmt.Errorf("phase %q", e.Ph)
	}
	must, may, _ := strings.Cut(rule, "|")
	has := e.has()
	for name := range strings.FieldsSeq(must) {
		if !has[name] {
			return fmt.Errorf("no %s", name)
		}
		delete(has, name)
	}
	for name := range strings.FieldsSeq(may) {
		delete(has, name)
	}
	for name := range maps.Keys(has) {
		if has[name] {
			return fmt.Errorf("%s in phase %s", name, e.Ph)
		}
	}
	if *e.Pid < 1 || *e.Tid < 1 || *e.Pid == *e.Tid {
		return fmt.Errorf("process %d, thread %d", *e.Pid, *e.Tid)
	}
	if e.Ph != "M" {
		return nil
	}
	field := "name"
	if strings.HasSuffix(*e.Name, "_sort_index") {
		field = "sort_index"
	}
	if len(e.Args) != 1 || e.Args[field] == nil {
		return fmt.Errorf("arguments %v, want %s", e.Args, field)
	}
	switch *e.Name {
	case "process_name":
		if c.processes[*e.Pid] != "" {
			return errors.New("a second name")
		}
		c.processes[*e.Pid] = e.Args["name"].(string)
	case "thread_name":
		if c.threads[*e.Tid] != (thread{}) {
			return errors.New("a second name")
		}
		c.threads[*e.Tid] = thread{*e.Pid, e.Args["name"].(string)}
	case "process_sort_index", "thread_sort_index":
	default:
		return errors.New("unknown metadata")
	}
	return nil
}

// event checks the content of an event other than metadata.
func (c *checker) event(e *event) error {
	if c.processes[*e.Pid] == "" || c.threads[*e.Tid].pid != *e.Pid || c.threads[*e.Tid].name == "" {
		return errors.New("a process or a thread without a name")
	}
	if e.Ph == "M" {
		return nil
	}
	at, err := nanos(*e.Ts, 3)
	if err != nil {
		return err
	}
	if at < c.last || at > c.until {
		return fmt.Errorf("at %d ns, after %d, want up to %d", at, c.last, c.until)
	}
	c.last = at
	switch e.Ph {
	case "X":
		dur, err := nanos(*e.Dur, 3)
		if err != nil {
			return err
		}
		milli, err := nanos(e.Args["gpus_each"].(json.Number), 3)
		if err != nil || dur == 0 || at+dur > c.until {
			return fmt.Errorf("of %d ns, ends after %d: %w", dur, c.until, err)
		}
		if !strings.HasPrefix(c.threads[*e.Tid].name, "GPU ") || e.Args["job"] != *e.Name {
			return fmt.Errorf("job %v on thread %q", e.Args["job"], c.threads[*e.Tid].name)
		}
		c.slices[*e.Tid] = append(c.slices[*e.Tid], slice{at, at + dur, milli})
		return c.flow(e)
	case "i":
		if *e.S != "t" {
			return fmt.Errorf("scope %q", *e.S)
		}
	case "C":
		return c.sample(e, at)
	case "b", "e":
		return c.wait(e, at)
	}
	return nil
}

func (c *checker) flow(e *event) error {
	in, out := e.FlowIn != nil, e.FlowOut != nil
	if (in || out) != (e.BindID != nil) {
		return errors.New("a flow without an id, or an id without a flow")
	}
	if e.BindID == nil {
		return nil
	}
	if c.flows == nil {
		c.flows = map[string]int8{}
	}
	state := c.flows[*e.BindID]
	if state == 2 || in != (state == 1) {
		return errors.New("a flow that does not begin, or goes on after its end")
	}
	c.flows[*e.BindID] = 2
	if out {
		c.flows[*e.BindID] = 1
	}
	return nil
}

func (c *checker) flowsEnd() error {
	for id, state := range c.flows {
		if state != 2 {
			return fmt.Errorf("flow %s does not end", id)
		}
	}
	return nil
}

func (c *checker) wait(e *event, at int64) error {
	if c.waits == nil {
		c.waits = map[string]int{}
	}
	key := *e.ID + " " + *e.Name
	c.waits[key]++
	c.waited -= at
	if e.Ph == "e" {
		c.waits[key] -= 2
		c.waited += 2 * at
	}
	if n := c.waits[key]; n < 0 || n > 1 {
		return fmt.Errorf("wait %s ends or begins twice", key)
	}
	return nil
}

func (c *checker) waitsEnd() error {
	for key, n := range c.waits {
		if n != 0 {
			return fmt.Errorf("wait %s does not end", key)
		}
	}
	return nil
}

func (c *checker) sample(e *event, at int64) error {
	if len(e.Args) != 1 {
		return fmt.Errorf("%d series", len(e.Args))
	}
	for _, v := range e.Args {
		x, err := v.(json.Number).Float64()
		if all := c.samples[*e.Name]; err != nil || x < 0 || len(all) > 0 && (all[len(all)-1].at == at || all[len(all)-1].value == x) {
			return fmt.Errorf("value %v: no number of 0 or more that is new: %w", v, err)
		}
		if c.samples == nil {
			c.samples = map[string][]sample{}
		}
		c.samples[*e.Name] = append(c.samples[*e.Name], sample{at, x})
	}
	return nil
}

// overlaps returns an error if slices of a thread overlap.
func (c *checker) overlaps() error {
	for tid, all := range c.slices {
		for i := 1; i < len(all); i++ {
			if all[i].from < all[i-1].to {
				return fmt.Errorf("slices of thread %d overlap at %d ns", tid, all[i].from)
			}
		}
	}
	return nil
}

// lowest returns an error unless every slice is in the lowest slot that is free when the slice begins.
func (c *checker) lowest() error {
	byName := map[thread]int{}
	for tid, t := range c.threads {
		byName[t] = tid
	}
	for tid, all := range c.slices {
		t := c.threads[tid]
		gpu, number, shared := strings.Cut(t.name, " slot ")
		n, _ := strconv.Atoi(number)
		if shared && n < 2 {
			return fmt.Errorf("thread %q", t.name)
		}
		for slot := 1; slot < n; slot++ {
			below := gpu
			if slot > 1 {
				below = fmt.Sprintf("%s slot %d", gpu, slot)
			}
			others := c.slices[byName[thread{t.pid, below}]]
			for _, s := range all {
				if !slices.ContainsFunc(others, func(o slice) bool { return o.from <= s.from && s.from < o.to }) {
					return fmt.Errorf("at %d ns %q of process %d was free below %q", s.from, below, t.pid, t.name)
				}
			}
		}
	}
	return nil
}

// gpuTime returns an error unless the slices of every GPU last as long as the log's jobs held it, in thousandths of a GPU times
// nanoseconds. It follows the records and adds up what each job holds between every two of them.
func (c *checker) gpuTime() error {
	type gpu struct {
		pid  int
		name string
	}
	want, got := map[gpu]int64{}, map[gpu]int64{}
	holds := make([]*sim.Record, len(c.log.Jobs))
	for i := range c.log.Records {
		r := &c.log.Records[i]
		if i > 0 {
			passed := int64(r.At - c.log.Records[i-1].At)
			for _, h := range holds {
				if h == nil {
					continue
				}
				at := 0
				for _, piece := range c.log.Placement(h) {
					for range piece.Workers {
						want[gpu{3 + int(piece.Server), fmt.Sprintf("GPU %d", c.log.GPUs(h)[at])}] += passed * int64(piece.GPUMilli)
						at++
					}
				}
			}
		}
		switch r.Kind {
		case sim.Start, sim.Migrate, sim.Resize:
			holds[r.Job] = r
		case sim.Preempt, sim.Interrupt, sim.Finish:
			holds[r.Job] = nil
		}
	}
	for tid, all := range c.slices {
		name, _, _ := strings.Cut(c.threads[tid].name, " slot ")
		for _, s := range all {
			got[gpu{c.threads[tid].pid, name}] += (s.to - s.from) * s.milli
		}
	}
	maps.DeleteFunc(want, func(_ gpu, n int64) bool { return n == 0 })
	if !maps.Equal(want, got) {
		return fmt.Errorf("the GPUs were held for %v, and the slices say %v", want, got)
	}
	return nil
}

// counts checks the counters against eval.Timeline, and that they end at 0 in a finished episode.
func (c *checker) counts() error {
	if c.log.Outcome.Terminated {
		for _, name := range []string{"jobs that wait", "GPUs waited for", "GPUs held", "utilisation"} {
			if all := c.samples[name]; len(all) == 0 || all[len(all)-1].value != 0 {
				return fmt.Errorf("counter %q does not end at 0", name)
			}
		}
	}
	line := eval.NewTimeline(c.log, time.Duration(c.until), 1)
	for _, k := range []struct {
		name string
		want float64
		most bool
	}{
		{"jobs that wait", line.Queue[0], true},
		{"GPUs waited for", line.Waiting[0], true},
		{"GPUs held", line.Held[0], false},
		{"servers on loan", line.Lent[0], false},
		{"servers that inference needs", line.Need[0], false},
	} {
		most, mean := 0.0, 0.0
		all := append(slices.Clone(c.samples[k.name]), sample{c.until, 0})
		for i := range all[:len(all)-1] {
			if passed := float64(all[i+1].at - all[i].at); passed > 0 {
				most, mean = max(most, all[i].value), mean+all[i].value*passed/float64(c.until)
			}
		}
		got := mean
		if waited := float64(c.waited) / max(1, float64(c.until)); k.name == "jobs that wait" && math.Abs(mean-waited) > 1e-9*max(1, mean) {
			return fmt.Errorf("%v jobs wait on average, and the slices of the queue say %v", mean, waited)
		}
		if k.most {
			got = most
		}
		if math.Abs(got-k.want) > 1e-9*max(1, k.want) {
			return fmt.Errorf("counter %q: %v, want %v", k.name, got, k.want)
		}
	}
	return nil
}

var exact = regexp.MustCompile(`^(0|[1-9]\d*)(\.\d*[1-9])?$`)

// nanos parses a decimal exactly, in units of its last place.
func nanos(n json.Number, places int) (int64, error) {
	whole, part, _ := strings.Cut(string(n), ".")
	if !exact.MatchString(string(n)) || len(part) > places {
		return 0, fmt.Errorf("number %q, want 0 or more with up to %d decimals", n, places)
	}
	return strconv.ParseInt(whole+part+strings.Repeat("0", places-len(part)), 10, 64)
}
