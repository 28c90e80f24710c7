// Package unpack reads files that may be compressed, and enforces limits while it reads: gzip data may unpack to a thousand times
// its size.
package unpack

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// The constant free is the number of bytes to which a compressed file may always unpack. Beyond that, it may unpack to mostRatio
// times its size. Event logs and traces unpack to 5 to 40 times their size.
const (
	free      = 16 << 20
	mostRatio = 100
)

// NewReader returns a reader of in, which it decompresses if the first bytes are those of gzip. Reading fails if there are more
// bytes than the parameter most, or if the data unpack to more than the limits above. The error then wraps tooMuch.
func NewReader(in io.Reader, most int64, tooMuch error) (io.Reader, error) {
	packed := &counter{in: in}
	buf := bufio.NewReader(packed)
	if magic, _ := buf.Peek(2); string(magic) != "\x1f\x8b" {
		return &bounded{in: buf, most: most, tooMuch: tooMuch}, nil
	}
	z, err := gzip.NewReader(buf)
	if err != nil {
		return nil, fmt.Errorf("read gzip header: %w", err)
	}
	return &bounded{in: z, packed: packed, most: most, tooMuch: tooMuch}, nil
}

// UTF16 returns the UTF-16 in which a text is written, known by its mark or by a zero in its first character, or else nil.
func UTF16(text []byte) encoding.Encoding {
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}), len(text) > 1 && text[0] != 0 && text[1] == 0:
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}), len(text) > 1 && text[0] == 0 && text[1] != 0:
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	}
	return nil
}

// counter counts the bytes that are read.
type counter struct {
	in io.Reader
	n  int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}

// bounded returns an error at the limit, where io.LimitReader would return io.EOF.
type bounded struct {
	in      io.Reader
	packed  *counter // nil if the input is not compressed
	read    int64
	most    int64
	tooMuch error
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.most-b.read+1 {
		p = p[:b.most-b.read+1]
	}
	n, err := b.in.Read(p)
	b.read += int64(n)
	switch {
	case b.read > b.most:
		b.read--
		return n - 1, fmt.Errorf("%w: more than %d bytes", b.tooMuch, b.most)
	case b.packed != nil && b.read > free+mostRatio*b.packed.n:
		return n, fmt.Errorf("%w: %d bytes of gzip unpack to more than %d, and to more than %d times as many",
			b.tooMuch, b.packed.n, free, mostRatio)
	}
	return n, err
}
