package inference

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// errLimit is wrapped by errors about a file that exceeds the limits of the readers.
var errLimit = errors.New("demand trace exceeds a limit")

// The limits of a file protect against hostile and broken files. The largest public trace has 162 entries of 2,016 lines.
const (
	maxEntries = 1 << 14
	maxBytes   = 1 << 30 // unpacked
	maxLine    = 4096
	maxRate    = 1e12 // requests per second
)

// row is one line of a CSV file without quoted fields (the traces have none), and its place for errors.
type row struct {
	place  string // the file, and the entry if it is an archive
	number int    // of the line, from 1
	fields []string
	names  []string
}

// errorf returns an error that names the file and the line.
func (r *row) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", r.place, r.number, fmt.Errorf(format, args...))
}

// bad returns an error that says what field i contains and what was expected.
func (r *row) bad(i int, want string) error {
	v := r.fields[i]
	if len(v) > 80 {
		v = v[:80] + "..."
	}
	return r.errorf("field %q: value %q, want %s", r.names[i], v, want)
}

// float parses field i as a finite number from 0 to most.
func (r *row) float(i int, most float64) (float64, error) {
	v, err := strconv.ParseFloat(r.fields[i], 64)
	if err != nil || !(v >= 0 && v <= most) || math.Signbit(v) {
		return 0, r.bad(i, fmt.Sprintf("a number from 0 to %g", most))
	}
	return v, nil
}

// count parses field i as a whole number from 0 to most.
func (r *row) count(i int, most int64) (int64, error) {
	v, err := strconv.ParseInt(r.fields[i], 10, 64)
	if err != nil || v < 0 || v > most {
		return 0, r.bad(i, fmt.Sprintf("a whole number from 0 to %d", most))
	}
	return v, nil
}

// eachRow calls f for every line of src that is not blank, split at its commas. Each line must have one field per name.
func eachRow(src io.Reader, place string, names []string, f func(*row) error) error {
	scan := bufio.NewScanner(src)
	scan.Buffer(nil, maxLine+2)
	r := &row{place: place, names: names}
	for scan.Scan() {
		r.number++
		line := scan.Text() // without its line break
		if strings.TrimSpace(line) == "" {
			continue
		}
		r.fields = append(r.fields[:0], strings.Split(line, ",")...)
		if len(r.fields) != len(names) {
			return r.errorf("%d fields, want %d: %s", len(r.fields), len(names), strings.Join(names, ","))
		}
		if err := f(r); err != nil {
			return err
		}
	}
	if err := scan.Err(); err != nil {
		r.number++
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("%w: more than %d bytes in a line", errLimit, maxLine)
		}
		return r.errorf("read: %w", err)
	}
	return nil
}
