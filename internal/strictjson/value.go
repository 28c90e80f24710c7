package strictjson

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// scalar reads a value of the given kind and returns its text. If the next value is of another kind, it returns nil and reads
// nothing.
func (r *Reader) scalar(kind jsontext.Kind) []byte {
	if r.peek() != kind {
		return nil
	}
	v, err := r.dec.ReadValue()
	if err != nil {
		r.syntax(err)
		return nil
	}
	return v
}

// Numeral reads a number and returns its text, which is valid until the next call. If the next value is not a number, it returns
// nil, and the caller must refuse the value.
func (r *Reader) Numeral() []byte {
	v := r.scalar('0')
	if n := len(v); n > 0 && n < 3 && v[n-1] == '0' { // 02 is no JSON number, but the decoder would read 0
		if rest := r.dec.UnreadBuffer(); len(rest) > 0 && '0' <= rest[0] && rest[0] <= '9' {
			return nil
		}
	}
	return v
}

// Number reads an integer from least to most. It sets an error for anything else.
func (r *Reader) Number(least, most int64) int64 {
	v := r.Numeral()
	n, ok := whole(v)
	if !ok || n < least || n > most {
		r.refuseNumber(least, most)
		return least
	}
	return n
}

// Unsigned reads a whole number of 64 bits.
func (r *Reader) Unsigned() uint64 {
	n, err := strconv.ParseUint(string(r.Numeral()), 10, 64)
	if err != nil {
		r.Refuse(fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64)))
	}
	return n
}

// Count reads an integer from least to the largest int32.
func (r *Reader) Count(least int64) int32 { return int32(r.Number(least, math.MaxInt32)) }

// Float reads a number from least to most. It sets an error for anything else.
func (r *Reader) Float(least, most float64) float64 {
	x, err := strconv.ParseFloat(string(r.Numeral()), 64)
	if err != nil || !(x >= least && x <= most) {
		r.Refuse(fmt.Sprintf("a number from %g to %g", least, most))
		return least
	}
	return x
}

// Float32 reads any number of 32 bits.
func (r *Reader) Float32() float64 {
	x, err := strconv.ParseFloat(string(r.Numeral()), 32)
	if err != nil {
		r.Refuse("a number of 32 bits")
	}
	return x
}

// Positive reads a finite number above 0. It sets an error for anything else.
func (r *Reader) Positive() float64 {
	x, err := strconv.ParseFloat(string(r.Numeral()), 64)
	if err != nil || !(x > 0) {
		r.Refuse("a number above 0")
	}
	return x
}

// whole parses a JSON number that has no fraction and no exponent.
func whole(v []byte) (n int64, ok bool) {
	digits := v
	if len(v) > 0 && v[0] == '-' {
		digits = v[1:]
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	u := uint64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		u = u*10 + uint64(c-'0')
	}
	if u > 1<<63-1 {
		return 0, false
	}
	if n = int64(u); len(digits) < len(v) {
		n = -n
	}
	return n, true
}

// refuseNumber sets an error: the last requested value is not an integer from least to most.
func (r *Reader) refuseNumber(least, most int64) {
	if r.err == nil {
		r.Refuse(fmt.Sprintf("a whole number from %d to %d", least, most))
	}
}

// Null reads a null, if it comes next, and reports whether it did.
func (r *Reader) Null() bool { return r.scalar('n') != nil }

// Flag reads true or false.
func (r *Reader) Flag() bool {
	switch r.peek() {
	case 't':
		return r.scalar('t') != nil
	case 'f':
		r.scalar('f')
		return false
	}
	r.Refuse("true or false")
	return false
}

// OneOf reads one of the given words and returns its index. It sets an error for anything else.
func (r *Reader) OneOf(words ...string) int {
	s, _ := r.String(longest)
	i := slices.Index(words, s)
	if i < 0 {
		r.Refuse(strings.Join(words, " or "))
	}
	return max(i, 0)
}

// String reads a string. If the next value is not a string, or has more bytes than the parameter most, ok is false, and the
// caller must refuse the value. Equal short strings share one copy, until the table of shared strings is full.
func (r *Reader) String(most int) (s string, ok bool) {
	quoted := r.scalar('"')
	if quoted == nil || len(quoted)-2 > 6*most { // one byte has an escape of at most six bytes
		return "", false
	}
	raw := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(raw, '\\') >= 0 {
		raw, _ = jsontext.AppendUnquote(nil, quoted) // no error: it was read as a string
	}
	if len(raw) > most {
		return "", false
	}
	return r.share(raw), true
}

func (r *Reader) share(b []byte) string {
	const few, short = 1 << 12, 64
	if len(b) > short {
		return string(b)
	}
	if kept, ok := r.known[string(b)]; ok {
		return kept
	}
	v := string(b)
	if len(r.known) < few {
		r.known[v] = v
	}
	return v
}
