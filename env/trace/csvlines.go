package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/clustergym/clustergym/internal/names"
)

// lines reads a CSV file line by line within limits. A quoted field may contain commas and doubled quotes but no line break, so
// every row is one line and every error can give its number.
type lines struct {
	scan    *bufio.Scanner
	max     int // maximum bytes in a line
	maxRows int // maximum lines after the first, blank or not
	number  int // of the current line, from 1
}

func newLines(r io.Reader, opt Options) *lines {
	s := bufio.NewScanner(r)
	most := opt.MaxLine + 2 // the scanner's limit counts the line break
	s.Buffer(make([]byte, 0, min(4096, most)), most)
	return &lines{scan: s, max: opt.MaxLine, maxRows: opt.MaxRows}
}

// next returns the next line that is not blank; io.EOF after the last.
func (l *lines) next() (string, error) {
	for l.scan.Scan() {
		l.number++
		s := l.scan.Text()
		switch {
		case len(s) > l.max:
			return "", l.tooLong()
		case l.number-1 > l.maxRows:
			return "", fmt.Errorf("%w: more than %d rows", ErrLimit, l.maxRows)
		case strings.TrimSpace(s) != "":
			return s, nil
		}
	}
	switch err := l.scan.Err(); {
	case err == nil:
		return "", io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		l.number++
		return "", l.tooLong()
	default:
		return "", fmt.Errorf("read: %w", err)
	}
}

func (l *lines) tooLong() error {
	return fmt.Errorf("%w: more than %d bytes in a line", ErrLimit, l.max)
}

// cutQuoted returns the quoted field at the start of line, and the rest of the line after its closing quote.
func cutQuoted(line string) (field, rest string, err error) {
	var b strings.Builder
	for s := line[1:]; ; {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			return "", "", fmt.Errorf("quote of %s is not closed on its line: fields with line breaks are not read",
				shown(line))
		}
		b.WriteString(s[:i])
		if !strings.HasPrefix(s[i+1:], `"`) {
			return b.String(), s[i+1:], nil
		}
		b.WriteByte('"')
		s = s[i+2:]
	}
}

// shorten shortens s to 80 bytes, so that error messages stay readable.
func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// shown shortens s and makes it safe to show, for messages that do not quote it.
func shown(s string) string { return names.Escape(shorten(s)) }
