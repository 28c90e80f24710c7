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
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

const published = "day,jobs\n2017-01-01,1\n2017-01-02,2\n2017-01-03,3\n"

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// small is a set with a file that is cut and an archive.
func small() Set {
	return Set{Folder: "small-2017", Files: []File{
		{
			Name: "days.csv.gz", Source: "someone/days/0123/days.csv", keep: &keep{column: "day", above: "2017-01-01", till: "2017-01-03"},
			sum: digest("day,jobs\n2017-01-02,2\n"),
		},
		{Name: "parts.tar.gz", Source: "someone/parts/0123/all", Parts: []string{"b", "a"}, sum: digest("a 3\noneb 3\ntwo")},
	}}
}

func contents() map[string]string {
	return map[string]string{
		"/someone/days/0123/days.csv": published, "/someone/parts/0123/all/a": "one", "/someone/parts/0123/all/b": "two",
	}
}

// serve serves files by path, with ranges. It returns the fetcher and the number of bytes that were served.
func serve(t *testing.T, files map[string]string) (*Fetcher, *atomic.Int64) {
	t.Helper()
	var bytesOut atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		counted := &counter{ResponseWriter: w, n: &bytesOut}
		http.ServeContent(counted, r, path.Base(r.URL.Path), time.Time{}, strings.NewReader(text))
	}))
	t.Cleanup(server.Close)
	return &Fetcher{Site: server.URL}, &bytesOut
}

type counter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return c.ResponseWriter.Write(b)
}

// TestFetch checks that what is published is cut, packed, checked and put in place, that nothing else is left, and that nothing
// is fetched twice.
func TestFetch(t *testing.T) {
	f, served := serve(t, contents())
	dir := t.TempDir()
	for range 2 {
		must.Do(t, f.Set(t.Context(), dir, small()))
	}
	if want := len(published) + 6; served.Load() != int64(want) {
		t.Errorf("%d bytes served, want %d", served.Load(), want)
	}
	folder := filepath.Join(dir, "traces", "small-2017")
	if got := unpacked(t, filepath.Join(folder, "days.csv.gz")); got != "day,jobs\n2017-01-02,2\n" {
		t.Errorf("days.csv: %q", got)
	}
	archive := tar.NewReader(strings.NewReader(unpacked(t, filepath.Join(folder, "parts.tar.gz"))))
	if head, err := archive.Next(); err != nil || head.Name != "a" {
		t.Errorf("the archive begins with %v, %v", head, err)
	}
	if names, err := os.ReadDir(folder); err != nil || len(names) != 2 {
		t.Errorf("%v, %v, want two files", names, err)
	}
}

// TestFetchGoesOn checks that a download goes on where it stopped, from a server with ranges, and begins again at one without.
func TestFetchGoesOn(t *testing.T) {
	for name, ranges := range map[string]bool{"with ranges": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			asked := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.Header.Get("Range")
				if !ranges {
					r.Header.Del("Range")
				}
				http.ServeContent(w, r, "x", time.Time{}, strings.NewReader(contents()[r.URL.Path]))
			}))
			defer server.Close()
			dir := t.TempDir()
			set := small()
			set.Files = set.Files[:1]
			folder := filepath.Join(dir, "traces", set.Folder)
			if err := errors.Join(os.MkdirAll(folder, 0o777), os.WriteFile(filepath.Join(folder, "days.csv.gz.part"), []byte(published[:20]), 0o666)); err != nil {
				t.Fatal(err)
			}
			must.Do(t, (&Fetcher{Site: server.URL}).Set(t.Context(), dir, set))
			if asked != "bytes=20-" {
				t.Errorf("asked for %q", asked)
			}
		})
	}
}

// TestFetchRefuses checks that a changed file, a missing one and one without the expected column are refused and not put in place,
// and that a changed file that is there already is named and kept.
func TestFetchRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
	}{
		"changed":   {strings.Replace(published, "02,2", "02,9", 1), "SHA-256"},
		"no column": {"date\n", "no column day"},
		"missing":   {"", "404"},
	} {
		t.Run(name, func(t *testing.T) {
			files := contents()
			if files["/someone/days/0123/days.csv"] = c.text; c.text == "" {
				delete(files, "/someone/days/0123/days.csv")
			}
			f, _ := serve(t, files)
			dir := t.TempDir()
			err := f.Set(t.Context(), dir, small())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "traces", "small-2017", "days.csv.gz")); err == nil {
				t.Error("it is put in place")
			}
			f, _ = serve(t, contents())
			if err := f.Set(t.Context(), dir, small()); err != nil {
				t.Errorf("and later: %v", err)
			}
			place := filepath.Join(dir, "traces", "small-2017", "days.csv.gz")
			must.Do(t, os.WriteFile(place, []byte("mine"), 0o666))
			if err := f.Set(t.Context(), dir, small()); !errors.Is(err, ErrSum) || !strings.Contains(err.Error(), "remove it") {
				t.Errorf("a file that is there: %v", err)
			}
		})
	}
}

// TestFetchWithoutNetwork checks that the error says where a file comes from and goes to, and that a file put there is taken.
func TestFetchWithoutNetwork(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	f, dir, set := &Fetcher{Site: server.URL}, t.TempDir(), small()
	set.Files = set.Files[:1]
	part := filepath.Join(dir, "traces", "small-2017", "days.csv.gz.part")
	err := f.Set(t.Context(), dir, set)
	if want := fmt.Sprintf("get %s/someone/days/0123/days.csv elsewhere, put it at %s and", server.URL, part); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v, want %s", err, want)
	}
	const half = len(published) / 2
	must.Do(t, os.WriteFile(part, []byte(published[:half]), 0o666))
	if err := f.Set(t.Context(), dir, set); !errors.Is(err, ErrSum) || !strings.Contains(err.Error(), "Without a network") {
		t.Errorf("half of a file: %v, want the error of the network and that of the checksum", err)
	}
	if kept, err := os.ReadFile(part); string(kept) != published[:half] {
		t.Errorf("half of a file: %q is kept, %v", kept, err)
	}
	must.Do(t, os.WriteFile(part, []byte(published), 0o666))
	if err := f.Set(t.Context(), dir, set); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Set(ctx, t.TempDir(), set); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestFetchTheRealSets fetches all sets from a local server that has the real rows, and reads what came.
func TestFetchTheRealSets(t *testing.T) {
	shared, files := sharedtest.Dir(t), map[string]string{}
	for _, set := range Sets() {
		for _, file := range set.Files {
			text := unpacked(t, filepath.Join(shared, "traces", set.Folder, file.Name))
			if file.Parts == nil {
				files["/"+file.Source] = text
				continue
			}
			for archive := tar.NewReader(strings.NewReader(text)); ; {
				head, err := archive.Next()
				if err != nil {
					break
				}
				part := must.Get(io.ReadAll(archive))(t)
				files["/"+file.Source+"/"+head.Name] = string(part)
			}
		}
	}
	f, _ := serve(t, files)
	dir := t.TempDir()
	for _, set := range Sets() {
		must.Do(t, f.Set(t.Context(), dir, set))
	}
	const name = "traces/helios-venus-2020-06/helios_data_training.csv.gz"
	w, err := trace.Read(filepath.Join(dir, name), trace.Options{Format: trace.Helios})
	if err != nil || len(w.Jobs) != 10796 {
		t.Errorf("%d jobs of Helios, %v", len(w.Jobs), err)
	}
}

// TestFetchFromAHostileMirror checks that a mirror that sends too much for a file, all parts together, is refused at the limit,
// and leaves nothing behind.
func TestFetchFromAHostileMirror(t *testing.T) {
	big := strings.Repeat("x", mostBytes/3)
	set := Set{Folder: "small-2017", Files: []File{{Name: "parts.tar.gz", Source: "all", Parts: strings.Fields("a b c d e f g h"), sum: digest("")}}}
	files := map[string]string{}
	for _, name := range set.Files[0].Parts {
		files["/all/"+name] = big
	}
	f, served := serve(t, files)
	dir := t.TempDir()
	err := f.Set(t.Context(), dir, set)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("/all/d: more than %d bytes in all", mostBytes)) {
		t.Errorf("error %v", err)
	}
	if n := served.Load(); n > int64(mostBytes+len(big)) {
		t.Errorf("%d bytes served, want about %d at most", n, mostBytes)
	}
	if left := stored(t, dir); left > mostBytes {
		t.Errorf("%d bytes are left", left)
	}
	files["/all/d"] = "" // what comes first is on disk, and counts
	if err := f.Set(t.Context(), dir, set); err == nil || !strings.Contains(err.Error(), "/all/e: more than") {
		t.Errorf("again: error %v", err)
	}
}

// stored returns how many bytes the files in a folder have.
func stored(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFetchHoldsLittle checks that files go from the network to the disk and through the checksum in small pieces.
func TestFetchHoldsLittle(t *testing.T) {
	const size = 16 << 20
	text := "day\n" + strings.Repeat("2017-01-02\n", size/11)
	set := Set{Folder: "small-2017", Files: []File{
		{Name: "days.csv.gz", Source: "days", keep: &keep{column: "day", above: "2017-01-01", till: "2017-01-03"}, sum: digest(text)},
		{Name: "parts.tar.gz", Source: "all", Parts: []string{"a"}, sum: digest(fmt.Sprintf("a %d\n%s", len(text), text))},
	}}
	f, _ := serve(t, map[string]string{"/days": text, "/all/a": text})
	dir := t.TempDir()
	for i := range set.Files {
		one := set
		one.Files = set.Files[i : i+1]
		stop, most := make(chan struct{}), make(chan uint64)
		go watchHeap(stop, most)
		err := f.Set(t.Context(), dir, one)
		close(stop)
		if held := <-most; err != nil || held > size/2 {
			t.Errorf("%s: %d bytes more on the heap, %v", one.Files[0].Name, held, err)
		}
	}
}

// watchHeap sends by how much the heap was larger than at first, at most.
func watchHeap(stop <-chan struct{}, most chan<- uint64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, worst := m.HeapAlloc, uint64(0)
	for {
		select {
		case <-stop:
			most <- worst
			return
		default:
			runtime.GC()
			runtime.ReadMemStats(&m)
			worst = max(worst, m.HeapAlloc-min(m.HeapAlloc, before))
		}
	}
}

// TestLongLines checks that a line without an end is refused before it is read.
func TestLongLines(t *testing.T) {
	var out bytes.Buffer
	err := (&keep{column: "day"}).cut(&out, io.MultiReader(strings.NewReader("day\n"), strings.NewReader(strings.Repeat(",", 2*mostLine))))
	if !errors.Is(err, ErrSum) || !strings.Contains(err.Error(), "a line of more than") {
		t.Errorf("error %v", err)
	}
}

// FuzzCut checks that no published file makes the cut panic or add a byte.
func FuzzCut(f *testing.F) {
	f.Add([]byte(published), "day")
	f.Add([]byte("a\n1\n\n"), "a")
	f.Fuzz(func(t *testing.T, text []byte, column string) {
		for _, k := range []*keep{nil, {column: column, below: 2}, {column: column, above: "2", till: "4"}} {
			var out bytes.Buffer
			if err := k.cut(&out, bytes.NewReader(text)); err == nil && out.Len() > len(text) {
				t.Fatalf("%q of %q", &out, text)
			}
		}
	})
}

func unpacked(t *testing.T, path string) string {
	t.Helper()
	packed := must.Get(os.ReadFile(path))(t)
	z := must.Get(gzip.NewReader(bytes.NewReader(packed)))(t)
	text := must.Get(io.ReadAll(z))(t)
	return string(text)
}
