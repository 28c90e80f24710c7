package checkpoints

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// entry is a named header entry.
type entry struct {
	name string
	headerEntry
}

// headerParser reads a header token by token, because encoding/json accepts input that the format forbids: duplicate names, keys
// in another case, unknown keys.
type headerParser struct {
	dec *json.Decoder
}

// parseHeader returns the entries in file order. It does not check the offsets.
func parseHeader(header []byte, most int) (entries []entry, metadata map[string]string, err error) {
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, errors.New("does not begin with {")
	}
	if !utf8.Valid(header) {
		return nil, nil, errors.New("is not UTF-8")
	}
	p := headerParser{json.NewDecoder(bytes.NewReader(header))}
	p.dec.UseNumber()
	err = p.object(func(name string) error {
		if name == metadataKey {
			metadata = map[string]string{}
			return p.object(func(key string) error {
				value, err := p.text()
				metadata[key] = value
				return err
			})
		}
		if len(entries) == most {
			return fmt.Errorf("more than %d tensors: %w", most, errTooBig)
		}
		e, err := p.entry()
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		entries = append(entries, entry{name, e})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if rest := bytes.TrimRight(header[p.dec.InputOffset():], " "); len(rest) > 0 {
		return nil, nil, fmt.Errorf("%d bytes after the closing }", len(rest))
	}
	return entries, metadata, nil
}

// object reads an object with unique keys and calls visit with each key, positioned at the key's value.
func (p headerParser) object(visit func(key string) error) error {
	if err := p.delim('{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for p.dec.More() {
		key, err := p.text()
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("key %q stands twice", key)
		}
		seen[key] = true
		if err := visit(key); err != nil {
			return err
		}
	}
	return p.delim('}')
}

func (p headerParser) entry() (headerEntry, error) {
	var e headerEntry
	keys := 0
	err := p.object(func(key string) (err error) {
		keys++
		switch key {
		case "dtype":
			e.DType, err = p.text()
		case "shape":
			e.Shape, err = p.shape()
		case "data_offsets":
			e.Offsets, err = p.offsets()
		default:
			err = fmt.Errorf("unknown key %q", key)
		}
		return err
	})
	if err == nil && keys != 3 {
		err = errors.New("want dtype, shape and data_offsets")
	}
	return e, err
}

func (p headerParser) shape() ([]int, error) {
	numbers, err := p.numbers(32)
	shape := make([]int, len(numbers))
	for i, n := range numbers {
		if n > math.MaxInt {
			return nil, fmt.Errorf("dimension %d is too large", n)
		}
		shape[i] = int(n)
	}
	return shape, err
}

func (p headerParser) offsets() ([2]int64, error) {
	numbers, err := p.numbers(2)
	if err != nil {
		return [2]int64{}, err
	}
	if len(numbers) != 2 {
		return [2]int64{}, fmt.Errorf("%d data_offsets, want 2", len(numbers))
	}
	return [2]int64(numbers), nil
}

// numbers reads an array of non-negative integers. The parameter most is the largest number of elements.
func (p headerParser) numbers(most int) ([]int64, error) {
	if err := p.delim('['); err != nil {
		return nil, err
	}
	var numbers []int64
	for p.dec.More() {
		if len(numbers) == most {
			return nil, fmt.Errorf("more than %d numbers in a row", most)
		}
		token, err := p.token()
		if err != nil {
			return nil, err
		}
		text, _ := token.(json.Number)
		n, err := strconv.ParseUint(string(text), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("got %v, want a whole number", token)
		}
		numbers = append(numbers, int64(n))
	}
	return numbers, p.delim(']')
}

func (p headerParser) text() (string, error) {
	token, err := p.token()
	if err != nil {
		return "", err
	}
	text, ok := token.(string)
	if !ok {
		return "", fmt.Errorf("got %v, want text", token)
	}
	return text, nil
}

func (p headerParser) delim(want json.Delim) error {
	token, err := p.token()
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("got %v, want %v", token, want)
	}
	return nil
}

func (p headerParser) token() (json.Token, error) {
	token, err := p.dec.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return token, err
}
