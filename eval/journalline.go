package eval

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// A line of the journal is a JSON object whose last member is a checksum of everything before it. Without the checksum, a line
// with a changed digit would be read as a result.
const sealStart = `,"sha256":"`

var (
	errUnsealed = errors.New("it has no checksum, as an older version wrote it, or it is damaged")
	errSeal     = errors.New("it does not have its checksum: it is damaged, or somebody changed it")
	errLong     = fmt.Errorf("it is longer than %d bytes", maxLine)
)

// seal returns v as a line of the journal. v must encode as a JSON object with at least one member.
func seal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	text = text[:len(text)-1]
	return fmt.Appendf(text, "%s%s\"}\n", sealStart, lineSum(text)), nil
}

func lineSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// unseal checks a line that seal wrote, with or without its newline, and reads it into v.
func unseal(line []byte, v any) error {
	if line == nil {
		return errLong
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	at := bytes.LastIndex(line, []byte(sealStart))
	if at < 0 {
		return errUnsealed
	}
	if string(line[at:]) != sealStart+lineSum(line[:at])+`"}` {
		return errSeal
	}
	return json.Unmarshal(line, v)
}

// readJournal returns the entries of a journal whose checksum is right, and an error that names the damaged lines. It silently
// drops an incomplete last line, which a kill leaves behind.
func readJournal(path string) (all []entry, damage error, err error) {
	var bad []string
	err = eachLine(path, func(n int, line []byte, whole bool) {
		var e entry
		err := unseal(line, &e)
		if err == nil {
			all = append(all, e)
		} else if whole {
			bad = append(bad, fmt.Sprintf("%s:%d: %v", path, n, err))
		}
	})
	if len(bad) == 0 {
		return all, nil, err
	}
	const most = 5
	if more := len(bad) - most; more > 0 {
		bad = append(bad[:most], fmt.Sprintf("and %d more", more))
	}
	damage = fmt.Errorf("lines of the journal are left out, and their cases are played again:\n  %s", strings.Join(bad, "\n  "))
	return all, damage, err
}

// maxLine is the longest line of a journal, in bytes.
const maxLine = 1 << 20

// eachLine calls do with each line of a file and the line's number, from 1. whole is false for a last line without a newline. For
// a line longer than maxLine, line is nil. A missing file counts as empty.
func eachLine(path string, do func(n int, line []byte, whole bool)) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, maxLine)
	for n := 1; ; n++ {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			line = nil
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = r.ReadSlice('\n')
			}
		} else if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", path, err)
		}
		do(n, line, err == nil)
		if err != nil {
			return nil
		}
	}
}
