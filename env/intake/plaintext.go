package intake

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

const wantJSON = "want JSON, as kubectl get -o json, scontrol --json and squeue --json print"

// plain returns a text of JSON in UTF-8, without a byte order mark. PowerShell writes UTF-16 to a file where other shells write
// what the program prints. A text that is no JSON from its first character on is an error that says what it seems to be.
func plain(text []byte) ([]byte, error) {
	if from := encodingOf(text); from != nil {
		var err error
		if text, err = from.NewDecoder().Bytes(text); err != nil {
			return nil, fmt.Errorf("%w, %s", err, wantJSON)
		}
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	start := bytes.TrimLeft(text, " \t\r\n")
	if len(start) == 0 {
		return nil, errors.New("empty, " + wantJSON)
	}
	if start[0] == '{' || start[0] == '[' {
		return text, nil
	}
	line, _, _ := bytes.Cut(start, []byte("\n"))
	line = bytes.TrimSpace(line[:min(len(line), 40)])
	at := 1 + bytes.Count(text[:len(text)-len(start)], []byte("\n"))
	if isYAML(line) {
		return nil, fmt.Errorf("line %d: YAML (%s), %s", at, cut(string(line)), wantJSON)
	}
	return nil, fmt.Errorf("line %d: %s, %s", at, cut(string(line)), wantJSON)
}

// encodingOf returns the UTF-16 in which a text of JSON is written, known by its mark or by its first character, or else nil.
func encodingOf(text []byte) encoding.Encoding {
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}), len(text) > 1 && text[0] != 0 && text[1] == 0:
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}), len(text) > 1 && text[0] == 0 && text[1] != 0:
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	}
	return nil
}

func isYAML(line []byte) bool {
	return slices.ContainsFunc([]string{"---", "- ", "apiVersion:", "kind:", "items:", "metadata:", "nodes:", "jobs:", "%YAML"},
		func(start string) bool { return bytes.HasPrefix(line, []byte(start)) })
}
