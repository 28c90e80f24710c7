package fetch

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// pack writes a file cut and packed, from where its parts are, and checks it. It never holds more than a line or a block of it.
func (file *File) pack(w io.Writer, parts map[string]string) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	sum := sha256.New()
	if file.Parts == nil {
		err = file.packRows(io.MultiWriter(sum, z), parts[""])
	} else {
		err = file.packParts(sum, z, parts)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return err
	}
	return file.same(sum.Sum(nil))
}

func (file *File) packRows(w io.Writer, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	return file.keep.cut(w, in)
}

func (file *File) packParts(sum hash.Hash, w io.Writer, parts map[string]string) error {
	archive := tar.NewWriter(w)
	for _, name := range slices.Sorted(slices.Values(file.Parts)) {
		if err := packPart(sum, archive, name, parts[name]); err != nil {
			return err
		}
	}
	return archive.Close()
}

func packPart(sum hash.Hash, archive *tar.Writer, name, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	begin(sum, name, info.Size())
	head := tar.Header{Name: name, Mode: 0o644, Size: info.Size(), Format: tar.FormatUSTAR}
	if err := archive.WriteHeader(&head); err != nil {
		return err
	}
	_, err = io.CopyN(io.MultiWriter(sum, archive), in, info.Size())
	return err
}

// begin adds the name and the size of a part to the checksum of an archive. The part's bytes follow.
func begin(sum hash.Hash, name string, size int64) {
	_, _ = fmt.Fprintf(sum, "%s %d\n", name, size) // a hash returns no error
}

func (file *File) same(sum []byte) error {
	if got := hex.EncodeToString(sum); got != file.sum {
		return fmt.Errorf("%w: SHA-256 %s, want %s", ErrSum, got, file.sum)
	}
	return nil
}

// check returns nil if the file at the path is the one that was published, whatever packed it.
func (file *File) check(path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSum, err)
	}
	sum := sha256.New()
	whole := io.LimitReader(z, mostBytes)
	if file.Parts == nil {
		_, err = io.Copy(sum, whole)
	} else {
		err = sumParts(sum, tar.NewReader(whole))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSum, err)
	}
	return file.same(sum.Sum(nil))
}

// sumParts adds the files of an archive to a checksum, in the order of their names, whatever order they have in the archive.
func sumParts(sum hash.Hash, archive *tar.Reader) error {
	parts, names := map[string][]byte{}, []string(nil)
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		if parts[head.Name], err = io.ReadAll(archive); err != nil {
			return err
		}
	}
	for name := range parts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		begin(sum, name, int64(len(parts[name])))
		sum.Write(parts[name])
	}
	return nil
}

// mostLine limits the bytes of a line of a published file.
const mostLine = 1 << 16

// cut copies the header and the rows that are kept, as they are.
func (k *keep) cut(w io.Writer, r io.Reader) error {
	if k == nil {
		_, err := io.Copy(w, r)
		return err
	}
	lines := bufio.NewReaderSize(r, mostLine)
	column := -1
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("%w: a line of more than %d bytes", ErrSum, mostLine)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(line) == 0 {
			return nil
		}
		var kept bool
		if column < 0 {
			column, err = k.find(string(line))
			kept = true
		} else {
			kept, err = k.row(string(line), column)
		}
		if err == nil && kept {
			_, err = w.Write(line)
		}
		if err != nil {
			return err
		}
	}
}

func fieldsOf(line string) []string { return strings.Split(strings.TrimRight(line, "\r\n"), ",") }

// find returns the column that decides, by the header.
func (k *keep) find(line string) (int, error) {
	column := slices.Index(fieldsOf(line), k.column)
	if column < 0 {
		return -1, fmt.Errorf("%w: no column %s in %q", ErrSum, k.column, line[:min(len(line), 200)])
	}
	return column, nil
}

// row reports whether a row is kept.
func (k *keep) row(line string, column int) (bool, error) {
	fields := fieldsOf(line)
	if column >= len(fields) {
		return false, fmt.Errorf("%w: a row without %s", ErrSum, k.column)
	}
	return k.kept(fields[column])
}

func (k *keep) kept(value string) (bool, error) {
	if k.below == 0 {
		return value > k.above && value < k.till, nil
	}
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return false, fmt.Errorf("%w: %s is %.100q, want a number", ErrSum, k.column, value)
	}
	return x < k.below, nil
}
