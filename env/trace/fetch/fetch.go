package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/internal/atomicfile"
)

// Site is where Fetcher gets files by default.
const Site = "https://raw.githubusercontent.com"

// mostBytes is the largest published file that is read. The largest that Sets lists has 12 MB.
const mostBytes = 64 << 20

// Fetcher gets files over HTTP.
type Fetcher struct {
	Site   string       // the beginning of all addresses; "" means the constant Site
	Client *http.Client // nil means a client with a limit of time for each file
	Said   func(string) // is told what happens, a line each; may be nil
}

// ErrSum is wrapped by errors about a file that is not the one that Sets describes.
var ErrSum = errors.New("not the file that was published")

// Set gets the files of a set that the folder dir/traces does not have yet. A download that was interrupted goes on where it
// stopped. A file is put in place only if its checksum is right.
func (f *Fetcher) Set(ctx context.Context, dir string, set Set) error {
	folder := filepath.Join(dir, "traces", set.Folder)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("fetch %s: %w", set.Folder, err)
	}
	for i := range set.Files {
		if err := f.file(ctx, folder, &set.Files[i]); err != nil {
			return fmt.Errorf("fetch %s: %w", filepath.Join(folder, set.Files[i].Name), err)
		}
	}
	return nil
}

func (f *Fetcher) file(ctx context.Context, folder string, file *File) error {
	path := filepath.Join(folder, file.Name)
	switch err := file.check(path); {
	case err == nil:
		f.say("%s: there already", path)
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: remove it or name another folder", err)
	}
	parts, away, err := f.parts(ctx, path, file)
	if err != nil {
		return err
	}
	packed, err := file.pack(parts)
	if err != nil && away != nil {
		return fmt.Errorf("%w (what is there now: %w)", away, err)
	}
	if err != nil {
		for name := range parts { // what was kept to go on with is of no use
			_ = os.Remove(partOf(path, file, name))
		}
		return err
	}
	if err := atomicfile.WriteBytes(path, 0o666, packed); err != nil {
		return err
	}
	for name := range parts {
		if err := os.Remove(partOf(path, file, name)); err != nil {
			return err
		}
	}
	f.say("%s: %d bytes", path, len(packed))
	return nil
}

// parts downloads the published files. It returns their content by name; a file that is no archive has the name "". If the
// server cannot be reached, it takes what it has of a file, perhaps put there by hand, and also returns the error, in away.
func (f *Fetcher) parts(ctx context.Context, path string, file *File) (parts map[string][]byte, away, err error) {
	site := strings.TrimSuffix(f.Site, "/")
	if site == "" {
		site = Site
	}
	parts = map[string][]byte{}
	for _, name := range file.names() {
		url := site + "/" + file.Source
		if name != "" {
			url += "/" + name
		}
		part := partOf(path, file, name)
		have, err := f.download(ctx, url, part)
		if err != nil {
			err = fmt.Errorf("%w\nWithout a network here, get %s elsewhere, put it at %s and give the same command again",
				err, url, part)
			if away = err; !have || ctx.Err() != nil {
				return nil, nil, err
			}
		}
		if parts[name], err = os.ReadFile(part); err != nil {
			return nil, nil, err
		}
	}
	return parts, away, nil
}

// names returns the names of the published files, "" for one that is no archive.
func (file *File) names() []string {
	if file.Parts == nil {
		return []string{""}
	}
	return file.Parts
}

// partOf returns where a published file is kept until the whole is in place.
func partOf(path string, file *File, name string) string {
	if file.Parts != nil {
		return path + "." + name + ".part"
	}
	return path + ".part"
}

// download gets a file, from where an earlier download of it stopped. It leaves a file alone that is whole. If the server cannot
// be reached, there reports whether something of the file is there.
func (f *Fetcher) download(ctx context.Context, url, path string) (there bool, err error) {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o666)
	if err != nil {
		return false, err
	}
	defer out.Close()
	have, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return false, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err
	}
	request.Header.Set("Accept-Encoding", "identity") // so that a range counts bytes of the file
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
		f.say("%s: going on from %d bytes", url, have)
	}
	client := f.Client
	if client == nil {
		client = &http.Client{Timeout: 10 * time.Minute}
	}
	answer, err := client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return have > 0, err // its checksum will tell whether it is whole
	}
	defer func() { _ = answer.Body.Close() }() // what was read is checked
	switch {
	case answer.StatusCode == http.StatusRequestedRangeNotSatisfiable && have > 0: // it was whole
		return true, nil
	case answer.StatusCode == http.StatusPartialContent && have > 0 &&
		strings.HasPrefix(answer.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)):
	case answer.StatusCode == http.StatusOK: // the server does not know ranges
		have = 0
		if err := out.Truncate(0); err != nil {
			return false, err
		}
	default:
		return false, fmt.Errorf("%s: %s", url, answer.Status)
	}
	n, err := io.Copy(out, io.LimitReader(answer.Body, mostBytes-have+1))
	if err == nil && have+n > mostBytes {
		err = fmt.Errorf("%s: more than %d bytes", url, mostBytes)
	}
	return false, errors.Join(err, out.Sync())
}

// pack cuts and packs what was published, and checks the result.
func (file *File) pack(parts map[string][]byte) ([]byte, error) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	if file.Parts == nil {
		rows, err := file.keep.cut(parts[""])
		if err != nil {
			return nil, err
		}
		sum.Write(rows)
		if _, err := z.Write(rows); err != nil {
			return nil, err
		}
	} else {
		archive := tar.NewWriter(z)
		for _, name := range slices.Sorted(slices.Values(file.Parts)) {
			_, _ = fmt.Fprintf(sum, "%s %d\n", name, len(parts[name])) // a hash returns no error
			sum.Write(parts[name])
			head := tar.Header{Name: name, Mode: 0o644, Size: int64(len(parts[name])), Format: tar.FormatUSTAR}
			if err := archive.WriteHeader(&head); err != nil {
				return nil, err
			}
			if _, err := archive.Write(parts[name]); err != nil {
				return nil, err
			}
		}
		if err := archive.Close(); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), file.same(sum.Sum(nil))
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
		if _, err := io.Copy(sum, whole); err != nil {
			return fmt.Errorf("%w: %w", ErrSum, err)
		}
		return file.same(sum.Sum(nil))
	}
	parts := map[string][]byte{}
	for archive := tar.NewReader(whole); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSum, err)
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		if parts[head.Name], err = io.ReadAll(archive); err != nil {
			return fmt.Errorf("%w: %w", ErrSum, err)
		}
	}
	_, err = file.pack(parts)
	return err
}

// cut returns the header and the rows that are kept, as they are.
func (k *keep) cut(text []byte) ([]byte, error) {
	if k == nil {
		return text, nil
	}
	var out []byte
	column := -1
	for line := range bytes.Lines(text) {
		fields := strings.Split(strings.TrimRight(string(line), "\r\n"), ",")
		if column < 0 {
			if column = slices.Index(fields, k.column); column < 0 {
				return nil, fmt.Errorf("%w: no column %s in %q", ErrSum, k.column, line[:min(len(line), 200)])
			}
			out = append(out, line...)
			continue
		}
		if column >= len(fields) {
			return nil, fmt.Errorf("%w: a row without %s", ErrSum, k.column)
		}
		if kept, err := k.kept(fields[column]); err != nil {
			return nil, err
		} else if kept {
			out = append(out, line...)
		}
	}
	return out, nil
}

func (k *keep) kept(value string) (bool, error) {
	if k.below == 0 {
		return value > k.above && value < k.till, nil
	}
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return false, fmt.Errorf("%w: %s is %q, want a number", ErrSum, k.column, value)
	}
	return x < k.below, nil
}

func (f *Fetcher) say(format string, args ...any) {
	if f.Said != nil {
		f.Said(fmt.Sprintf(format, args...))
	}
}
