package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clustergym/clustergym/internal/atomicfile"
)

// Site is where Fetcher gets files by default.
const Site = "https://raw.githubusercontent.com"

// mostBytes limits what is published of a file, all its parts together. The largest that Sets lists has 12 MB.
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
	err = atomicfile.Write(path, 0o666, func(w io.Writer) error { return file.pack(w, parts) })
	if err != nil && away != nil {
		return fmt.Errorf("%w (what is there now: %w)", away, err)
	}
	if err != nil && !errors.Is(err, ErrSum) {
		return err
	}
	for _, part := range parts { // if they are not what was published, they are of no use
		err = errors.Join(err, os.Remove(part))
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f.say("%s: %d bytes", path, info.Size())
	return nil
}

// parts downloads the published files. It returns where they are by name; a file that is no archive has the name "". If the
// server cannot be reached, it takes what it has of a file, perhaps put there by hand, and also returns the error, in away.
func (f *Fetcher) parts(ctx context.Context, path string, file *File) (parts map[string]string, away, err error) {
	site := strings.TrimSuffix(f.Site, "/")
	if site == "" {
		site = Site
	}
	parts = map[string]string{}
	left := int64(mostBytes)
	for _, name := range file.names() {
		url := site + "/" + file.Source
		if name != "" {
			url += "/" + name
		}
		part := partOf(path, file, name)
		have, err := f.download(ctx, url, part, left)
		if errors.Is(err, errTooLarge) {
			return nil, nil, errors.Join(err, os.Remove(part))
		}
		if err != nil {
			err = fmt.Errorf("%w\nWithout a network here, get %s elsewhere, put it at %s and give the same command again",
				err, url, part)
			if away = err; !have || ctx.Err() != nil {
				return nil, nil, err
			}
		}
		info, err := os.Stat(part)
		if err != nil {
			return nil, nil, err
		}
		if left -= info.Size(); left < 0 { // it was there before
			return nil, nil, fmt.Errorf("%s: %w", part, errTooLarge)
		}
		parts[name] = part
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

// errTooLarge is wrapped by errors about more bytes than any published file has.
var errTooLarge = fmt.Errorf("more than %d bytes in all", mostBytes)

// download gets a file of so many bytes at most, from where an earlier download of it stopped. It leaves a file alone that is
// whole. If the server cannot be reached, there reports whether something of the file is there.
func (f *Fetcher) download(ctx context.Context, url, path string, most int64) (there bool, err error) {
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
	n, err := io.Copy(out, io.LimitReader(answer.Body, most-have+1))
	if err == nil && have+n > most {
		err = fmt.Errorf("%s: %w", url, errTooLarge)
	}
	return false, errors.Join(err, out.Sync())
}

func (f *Fetcher) say(format string, args ...any) {
	if f.Said != nil {
		f.Said(fmt.Sprintf(format, args...))
	}
}
