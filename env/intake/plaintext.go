package intake

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/internal/unpack"
)

const wantJSON = "want JSON, as kubectl get -o json, scontrol --json and squeue --json print"

// plain returns a text of JSON in UTF-8, without a byte order mark. PowerShell writes UTF-16 to a file where other shells write
// what the program prints. A text that is no JSON from its first character on is an error that says what it seems to be.
func plain(text []byte) ([]byte, error) {
	if from := unpack.UTF16(text); from != nil {
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

func isYAML(line []byte) bool {
	return slices.ContainsFunc([]string{"---", "- ", "apiVersion:", "kind:", "items:", "metadata:", "nodes:", "jobs:", "%YAML"},
		func(start string) bool { return bytes.HasPrefix(line, []byte(start)) })
}
