package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/internal/unpack"
)

// Options controls how a trace is read. The zero value is ready to use.
type Options struct {
	Format      Format          // "" means that the header determines the format
	SkipBadRows bool            // count bad rows in the Report instead of failing on the first
	Columns     Columns         // of a file in no known format; nil if it has one
	MaxLine     int             // maximum bytes in one line, 0 = 64 KiB
	MaxRows     int             // maximum lines after the header, including blank ones, 0 = 20 million
	Stop        <-chan struct{} // reading ends with ErrStopped soon after this is closed; nil for never
}

// The limits of a file protect against hostile and broken files.
const (
	defaultMaxLine = 64 << 10
	defaultMaxRows = 20_000_000
	mostLine       = 1 << 30
	mostBytes      = 16 << 30 // unpacked
)

// maxBadExamples is the number of errors of skipped rows that a Report keeps.
const maxBadExamples = 5

// ErrLimit is wrapped by errors about a file that exceeds Options.MaxLine or MaxRows, or unpacks to too many bytes.
var ErrLimit = errors.New("trace exceeds a limit")

// ErrStopped is the error of a Reader that Options.Stop has stopped.
var ErrStopped = errors.New("reading was stopped")

// Reader reads one trace file as a stream, one row at a time. It is not safe for concurrent use.
type Reader struct {
	name   string
	lines  *lines
	format Format
	parse  func(r *Reader, row *row) (Job, verdict, error)
	opt    Options
	close  []io.Closer

	header  []string
	picked  *picked // nil unless Options.Columns are given
	clocked bool    // the first submit time was read
	dated   bool    // and is a date
	report  Report
	done    bool
	names   arena
	intern  map[string]string // one copy each of users, tenants, models and similar names that many jobs share
	seen    map[string]struct{}
	elapsed time.Duration // sum of the intervals, for PhillyAll and Helios
}

// verdict says whether a readable row is a job, and if not, why.
type verdict uint8

const (
	isJob verdict = iota
	isCPUOnly
	isNeverScheduled
)

// Open opens a trace file, plain or gzip (detected by its first bytes), and reads its header. The caller must Close the Reader.
func Open(path string, opt Options) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	r, err := NewReader(f, path, opt)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.close = append(r.close, f)
	return r, nil
}

// NewReader reads the header of a trace from src, plain or gzip. The parameter name is the name of the source in errors.
func NewReader(src io.Reader, name string, opt Options) (*Reader, error) {
	if opt.MaxLine < 0 || opt.MaxLine > mostLine || opt.MaxRows < 0 {
		return nil, fmt.Errorf("%s: limits of %d bytes a line and %d rows, want 0 or more, and lines of at most %d", name,
			opt.MaxLine, opt.MaxRows, mostLine)
	}
	if opt.MaxLine == 0 {
		opt.MaxLine = defaultMaxLine
	}
	if opt.MaxRows == 0 {
		opt.MaxRows = defaultMaxRows
	}
	r := &Reader{name: name, opt: opt, intern: map[string]string{}}
	in, err := unzip(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.lines = newLines(in, opt)
	line, err := r.lines.next()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: empty file, want a CSV header", name)
	}
	if err != nil {
		return nil, r.at(err)
	}
	if r.header, err = splitLine(nil, line); err != nil {
		return nil, r.at(err)
	}
	l := layouts()[0]
	switch {
	case len(opt.Columns) == 0:
		l, err = chooseLayout(opt.Format, r.header)
	case opt.Format != "" && opt.Format != Native:
		err = fmt.Errorf("columns are for files in no known format, this one is named %s", opt.Format)
	default:
		r.picked, err = opt.Columns.pick(r.header)
	}
	if err != nil {
		return nil, r.at(err)
	}
	r.format, r.parse = l.format, l.parse
	r.report.Format = l.format
	if idColumn(l.format) != "" {
		r.seen = map[string]struct{}{}
	}
	return r, nil
}

// unzip returns a reader that unpacks src if it is gzip, up to the limit of bytes.
func unzip(src io.Reader) (*bufio.Reader, error) {
	in, err := unpack.NewReader(src, mostBytes, ErrLimit)
	return bufio.NewReader(in), err
}

// Report returns the counts of the rows read so far.
func (r *Reader) Report() Report {
	rep := r.report
	rep.BadExamples = slices.Clone(rep.BadExamples)
	return rep
}

// Close closes the file. For a Reader from NewReader it leaves the source open.
func (r *Reader) Close() error {
	r.done = true
	var errs []error
	for _, c := range r.close {
		errs = append(errs, c.Close())
	}
	r.close = nil
	return errors.Join(errs...)
}

// jobs streams the remaining jobs in the order of the file, each validated on its own. Submit is on the trace's clock; for
// philly-pass, which has dates, it counts from 1970-01-01 in the trace's unknown time zone. The first error ends the stream. With
// SkipBadRows, rows that cannot be read are counted instead, unless later rows depend on them.
func (r *Reader) jobs() iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		for !r.done {
			j, ok, err := r.next()
			if err != nil {
				r.done = true
				if !errors.Is(err, io.EOF) {
					yield(Job{}, err)
				}
				return
			}
			if ok && !yield(j, nil) {
				return
			}
		}
	}
}

// next reads one row. It returns a job, or ok false if the row is skipped, or io.EOF after the last row.
func (r *Reader) next() (j Job, ok bool, err error) {
	if r.report.Rows%256 == 0 {
		select {
		case <-r.opt.Stop:
			return Job{}, false, fmt.Errorf("%s: %w", r.name, ErrStopped)
		default:
		}
	}
	line, err := r.lines.next()
	if errors.Is(err, io.EOF) {
		return Job{}, false, err
	}
	if err != nil {
		return Job{}, false, r.at(err)
	}
	r.report.Rows++
	j, v, err := r.row(line)
	if err != nil {
		err = r.at(err)
		if !r.opt.SkipBadRows || errors.As(err, new(fatalError)) {
			return Job{}, false, err
		}
		r.report.Bad++
		if len(r.report.BadExamples) < maxBadExamples {
			r.report.BadExamples = append(r.report.BadExamples, err.Error())
		}
		return Job{}, false, nil
	}
	switch v {
	case isCPUOnly:
		r.report.CPUOnly++
	case isNeverScheduled:
		r.report.NeverScheduled++
	default:
		r.report.Jobs++
	}
	return j, v == isJob, nil
}

// row parses one line and checks what all formats have in common.
func (r *Reader) row(line string) (Job, verdict, error) {
	fields, err := splitLine(make([]string, 0, len(r.header)), line)
	if err == nil && len(fields) != len(r.header) {
		err = fmt.Errorf("%d fields, want %d", len(fields), len(r.header))
	}
	if err != nil {
		if r.format == PhillyAll || r.format == Helios {
			err = fatalError{err} // without its interval, every later submit time is unknown
		}
		return Job{}, 0, err
	}
	row := row{header: r.header, fields: fields}
	if r.picked != nil {
		row = r.picked.row(fields)
	}
	j, v, err := r.parse(r, &row)
	if err == nil {
		err = row.err
	}
	if err != nil {
		if r.picked != nil {
			err = r.picked.named(err)
		}
		return Job{}, 0, err
	}
	if c := idColumn(r.format); c != "" {
		if _, twice := r.seen[j.Name]; twice {
			return Job{}, 0, columnError{c, j.Name, "an id that no earlier row has"}
		}
		j.Name = r.names.keep(j.Name)
		r.seen[j.Name] = struct{}{}
	} else if v == isJob {
		j.Name = r.names.keep(j.Name)
	}
	if v != isJob {
		return Job{}, v, nil
	}
	j.User, j.Tenant = r.share(j.User), r.share(j.Tenant)
	j.Model, j.Group, j.GPUType = r.share(j.Model), r.share(j.Group), r.share(j.GPUType)
	return j, v, nil
}

// share returns a copy of s that all jobs share.
func (r *Reader) share(s string) string {
	if s == "" {
		return ""
	}
	if kept, ok := r.intern[s]; ok {
		return kept
	}
	s = strings.Clone(s)
	r.intern[s] = s
	return s
}

// at adds the file and the line to an error.
func (r *Reader) at(err error) error {
	return fmt.Errorf("%s:%d: %w", r.name, max(1, r.lines.number), err)
}

// idColumn returns the column whose values must be unique, or "" if the row number is the id.
func idColumn(f Format) string {
	switch f {
	case Native, Kalos:
		return "job_id"
	case OpenB:
		return "name"
	case PhillyAll, Helios:
		return "u_id"
	}
	return ""
}

// fatalError is an error in a row that cannot be skipped, because later rows depend on it.
type fatalError struct{ error }

func (e fatalError) Unwrap() error { return e.error }

// arena packs many short strings into few allocations.
type arena struct{ chunk *strings.Builder }

// keep returns a copy of s in the arena, so that s itself can be freed.
func (a *arena) keep(s string) string {
	const size = 64 << 10
	if a.chunk == nil || a.chunk.Len()+len(s) > a.chunk.Cap() {
		a.chunk = new(strings.Builder)
		a.chunk.Grow(max(size, len(s)))
	}
	from := a.chunk.Len()
	a.chunk.WriteString(s)
	return a.chunk.String()[from:]
}
