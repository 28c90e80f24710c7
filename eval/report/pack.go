package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// A pack carries columns of numbers into the page, compressed with gzip and encoded in base64. Uncompressed it contains
//
//	uint32       length n of the head, little-endian
//	n bytes      the head: JSON, {"columns": [{"name", "width", "count"}, ...], ...}, plus the other fields of the head
//	per column   width planes of count bytes each: byte 0 of every number, then byte 1 of every number, ...
//
// A number is unsigned and little-endian; width is the least of 1, 2 and 4 bytes that is enough for the largest number of the
// column. Planes compress better than consecutive numbers, because high bytes are mostly equal. A column of width 0 is a text of
// count bytes. page/data.js reads packs. schedules.go defines the columns.
type pack struct {
	Columns []packed `json:"columns"`
	bytes   bytes.Buffer
}

// packed is a column of a pack.
type packed struct {
	Name  string `json:"name"`
	Width int    `json:"width"`
	Count int    `json:"count"`
}

// numbers adds a column of numbers.
func (p *pack) numbers(name string, values []uint32) {
	top := uint32(0)
	for _, v := range values {
		top |= v
	}
	width := 4
	switch {
	case top < 1<<8:
		width = 1
	case top < 1<<16:
		width = 2
	}
	p.Columns = append(p.Columns, packed{name, width, len(values)})
	for plane := range width {
		for _, v := range values {
			p.bytes.WriteByte(byte(v >> (8 * plane)))
		}
	}
}

// text adds a column with the JSON of a value.
func (p *pack) text(name string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	p.Columns = append(p.Columns, packed{name, 0, len(b)})
	p.bytes.Write(b)
	return nil
}

// encode returns the finished pack. head is a struct that embeds the pack.
func (p *pack) encode(head any) (string, error) {
	h, err := json.Marshal(head)
	if err != nil {
		return "", fmt.Errorf("pack: %w", err)
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression) // the gzip header has no time, so equal packs give equal bytes
	if err != nil {
		return "", fmt.Errorf("pack: %w", err)
	}
	for _, b := range [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(len(h))), h, p.bytes.Bytes()} {
		if _, err := z.Write(b); err != nil {
			return "", fmt.Errorf("pack: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return "", fmt.Errorf("pack: %w", err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}
