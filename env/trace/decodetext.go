package trace

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/clustergym/clustergym/internal/unpack"
)

// openBytes returns the text of a file in UTF-8. It unpacks gzip, takes the first file of a tar, and reads UTF-16.
func openBytes(src io.Reader) (*bufio.Reader, error) {
	in, err := unpack.NewReader(src, mostBytes, ErrLimit)
	if err != nil {
		return nil, err
	}
	buf := bufio.NewReaderSize(in, headBytes)
	if in, err = untar(buf); err != nil {
		return nil, err
	}
	if in != buf {
		buf = bufio.NewReaderSize(in, headBytes)
	}
	head, _ := buf.Peek(8)
	for _, k := range foreign {
		if strings.HasPrefix(string(head), k.magic) {
			return nil, formatError("this is " + k.is + ", want text, plain or gzip: " + k.how)
		}
	}
	return decode(buf)
}

// foreign are kinds of files that people take for text, by their first bytes.
var foreign = []struct{ magic, is, how string }{
	{"PK\x03\x04", "a zip archive or an Excel workbook", "unpack it with unzip, or save the sheet as CSV"},
	{"\xd0\xcf\x11\xe0", "an old Excel workbook", "save the sheet as CSV"},
	{"PAR1", "a Parquet file", "convert it, such as with pandas.read_parquet(FILE).to_csv(OUT, index=False)"},
	{"\x28\xb5\x2f\xfd", "packed by zstd", "unpack it with zstd -d"},
	{"\xfd7zXZ", "packed by xz", "unpack it with xz -d"},
	{"BZh", "packed by bzip2", "unpack it with bzip2 -d"},
	{"7z\xbc\xaf", "a 7z archive", "unpack it"},
	{"\xff\xfe\x00\x00", "text in UTF-32", "convert it with iconv -f UTF-32 -t UTF-8"},
	{"\x00\x00\xfe\xff", "text in UTF-32", "convert it with iconv -f UTF-32 -t UTF-8"},
}

// decode removes the byte order mark of UTF-8, and turns UTF-16 into UTF-8.
func decode(in *bufio.Reader) (*bufio.Reader, error) {
	head, _ := in.Peek(3)
	if string(head) == "\xef\xbb\xbf" {
		_, err := in.Discard(len(head))
		return in, err
	}
	if from := unpack.UTF16(head); from != nil {
		return bufio.NewReaderSize(from.NewDecoder().Reader(in), headBytes), nil
	}
	return in, nil
}

// untar returns a reader of the first file in a tar archive, or of the unchanged input if it is no archive.
func untar(in *bufio.Reader) (io.Reader, error) {
	const magic, at, mostEntries = "ustar", 257, 64
	if head, _ := in.Peek(at + len(magic)); len(head) < at+len(magic) || string(head[at:]) != magic {
		return in, nil
	}
	t := tar.NewReader(in)
	for range mostEntries {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("read tar: no file in it")
		}
		if err != nil {
			return nil, fmt.Errorf("read tar: %w", err)
		}
		if h.Typeflag == tar.TypeReg {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%w: no file among %d entries of the tar", ErrLimit, mostEntries)
}
