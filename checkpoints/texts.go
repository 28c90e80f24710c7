package checkpoints

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/clustergym/clustergym/internal/names"
)

// checkTexts returns an error for the first text of a manifest that is not safe to print. Manifests are untrusted.
func (m *Manifest) checkTexts() error {
	if !names.OK(m.Name) {
		return fmt.Errorf("name: %.300q, want at most %d bytes of printable UTF-8", m.Name, names.Longest)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	texts := jsontext.NewDecoder(bytes.NewReader(b))
	for {
		token, err := texts.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case token.Kind() != '"':
			continue
		}
		text, at := token.String(), string(texts.StackPointer())
		if at == "/training/objective" { // a text of several lines
			text = strings.NewReplacer("\n", "", "\t", "").Replace(text)
		}
		if !names.Clean(text) {
			return fmt.Errorf("%.300s: %.300q, want printable UTF-8", names.Escape(at), text)
		}
	}
}
