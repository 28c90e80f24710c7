package trace

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"
)

// Options controls how a trace is read. The zero value is ready to use.
type Options struct {
	Format      Format          // "" means that the header determines the format
	SkipBadRows bool            // count bad rows in the Report instead of failing on the first
	Columns     Columns         // of a file in no known format; nil if it has one
	MaxLine     int             // maximum bytes in one line, 0 = 1 MiB
	MaxRows     int             // maximum lines after the header, including blank ones, 0 = 20 million
	Stop        <-chan struct{} // reading ends with ErrStopped soon after this is closed; nil for never
}

// The limits of a file protect against hostile and broken files.
const (
	defaultMaxLine = 1 << 20
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
	rows   source
	layout layout
	opt    Options
	close  []io.Closer

	columns *columns
	buf     []string         // the fields of the current row, of which nothing is kept
	clocks  map[string]clock // by column of times
	report  Report
	done    bool
	names   arena
	intern  map[string]string // one copy each of users, tenants, models and similar names that many jobs share
	seen    map[string]uint64 // hashes of the rows, by id
	elapsed time.Duration     // sum of the intervals, for PhillyAll and Helios
}

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
	r := &Reader{name: name, opt: opt, intern: map[string]string{}, clocks: map[string]clock{}}
	in, err := openBytes(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l, err := r.recognise(in)
	if err != nil {
		return nil, err
	}
	r.layout = l
	r.report.Format = l.format
	if names := r.columns.unread; len(names) > 0 {
		list := strings.ReplaceAll(","+strings.Join(names, ",")+",", ",,", ",(no name),")
		are := fmt.Sprintf("%d columns are", len(names))
		if len(names) == 1 {
			are = "1 column is"
		}
		r.note(fmt.Sprintf("%s not read: %s", are, shown(strings.Trim(list, ","))), 0)
	}
	if l.id != "" {
		r.seen = map[string]uint64{}
	}
	return r, nil
}

// Report returns the counts of the rows read so far.
func (r *Reader) Report() Report {
	rep := r.report
	rep.BadExamples, rep.Left, rep.Notes = slices.Clone(rep.BadExamples), slices.Clone(rep.Left), slices.Clone(rep.Notes)
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
	err = r.rows.next()
	if errors.Is(err, io.EOF) {
		return Job{}, false, err
	}
	if err != nil {
		return Job{}, false, r.at(err)
	}
	r.report.Rows++
	j, v, err := r.row()
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
	if v == isJob {
		r.report.Jobs++
	} else {
		r.report.Left = r.report.Left.add(string(v), 1)
	}
	return j, v == isJob, nil
}

// row parses one row and checks what all formats have in common.
func (r *Reader) row() (Job, verdict, error) {
	fields, err := r.rows.fields(r.buf[:0])
	if err == nil {
		r.buf = fields
	}
	if err == nil && len(fields) != r.columns.width {
		err = fmt.Errorf("%d fields, want %d", len(fields), r.columns.width)
		if r.layout.format == Sacct {
			err = fmt.Errorf("%w: a name or an amount contains what separates fields, want another (sacct --delimiter)", err)
		}
	}
	if err != nil {
		if r.layout.format == PhillyAll || r.layout.format == Helios {
			err = fatalError{err} // without its interval, every later submit time is unknown
		}
		return Job{}, "", err
	}
	row := r.columns.row(fields)
	j, v, err := r.layout.parse(r, &row)
	if err == nil {
		err = row.err
	}
	if err != nil {
		return Job{}, "", r.columns.named(err)
	}
	if v != isJob {
		return Job{}, v, nil
	}
	if r.layout.id != "" {
		hash := hashOf(fields)
		if earlier, twice := r.seen[j.Name]; twice && earlier == hash && r.layout.id != "u_id" {
			return Job{}, isRepeated, nil
		} else if twice {
			return Job{}, "", r.columns.named(columnError{r.layout.id, j.Name, "an id that no earlier row has"})
		}
		j.Name = r.names.keep(j.Name)
		r.seen[j.Name] = hash
	} else {
		j.Name = r.names.keep(j.Name)
	}
	j.User, j.Tenant = r.share(j.User), r.share(j.Tenant)
	j.Model, j.Group, j.GPUType = r.share(j.Model), r.share(j.Group), r.share(j.GPUType)
	return j, v, nil
}

// hashOf returns a hash of the fields of a row, FNV-1a.
func hashOf(fields []string) uint64 {
	h := uint64(14695981039346656037)
	for _, field := range fields {
		for i := range len(field) {
			h = (h ^ uint64(field[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211 // no byte of UTF-8
	}
	return h
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

// note counts rows of which something was taken for granted, or 0 if it holds for the whole file.
func (r *Reader) note(what string, rows int) { r.report.Notes = r.report.Notes.add(what, rows) }

// at adds the file and the place in it to an error.
func (r *Reader) at(err error) error {
	return fmt.Errorf("%s:%s: %w", r.name, r.rows.place(), err)
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
