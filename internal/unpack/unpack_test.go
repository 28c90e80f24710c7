package unpack_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/unpack"
)

var errTooMuch = errors.New("too much")

func pack(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := must.Get(gzip.NewWriterLevel(&b, gzip.BestSpeed))(t)
	must.Get(z.Write(text))(t)
	must.Do(t, z.Close())
	return b.Bytes()
}

// digits returns n random digits, which gzip compresses to about half their size.
func digits(n int) []byte {
	text, r := make([]byte, n), rand.New(rand.NewPCG(1, 2))
	for i := range text {
		text[i] = '0' + byte(r.IntN(10))
	}
	return text
}

func TestLimits(t *testing.T) {
	honest, zeros := digits(20<<20), make([]byte, 64<<20)
	for _, c := range []struct {
		name string
		text []byte
		most int64
		want string // part of the error, "" for none
	}{
		{"plain", []byte("a,b\n"), 100, ""},
		{"nothing", nil, 100, ""},
		{"all that there may be", []byte("12345"), 5, ""},
		{"a byte more", []byte("123456"), 5, "too much: more than 5 bytes"},
		{"gzip", pack(t, []byte("a,b\n")), 100, ""},
		{"gzip of a byte more", pack(t, []byte("123456")), 5, "too much: more than 5 bytes"},
		{"gzip of much", pack(t, honest), 1 << 30, ""},
		{"gzip of little that unpacks to very much", pack(t, zeros), 1 << 30, "of gzip unpack to more than 16777216, and to more than 100 times"},
		{"gzip that is cut", pack(t, honest)[:1000], 1 << 30, "unexpected EOF"},
	} {
		in, err := unpack.NewReader(iotest.HalfReader(bytes.NewReader(c.text)), c.most, errTooMuch)
		if err != nil {
			t.Fatal(c.name, err)
		}
		n, err := io.Copy(io.Discard, in)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d bytes, %v, want %q", c.name, n, err, c.want)
		}
		if tooMuch := strings.HasPrefix(c.want, "too much") || strings.HasPrefix(c.want, "of gzip"); errors.Is(err, errTooMuch) != tooMuch {
			t.Errorf("%s: %v, of a limit: want %v", c.name, err, tooMuch)
		}
		if n > min(c.most, 21<<20) {
			t.Errorf("%s: %d bytes were read", c.name, n)
		}
	}
	if _, err := unpack.NewReader(strings.NewReader("\x1f\x8bxx"), 9, errTooMuch); err == nil || !strings.HasPrefix(err.Error(), "read gzip header: ") {
		t.Errorf("error %v, want one of the header", err)
	}
}
