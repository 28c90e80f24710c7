package inference_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/must"
)

type entry struct{ name, text string }

// pack returns a .tar.gz with the entries.
func pack(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	archive := tar.NewWriter(z)
	for _, e := range entries {
		head := &tar.Header{Name: e.name, Size: int64(len(e.text)), Mode: 0o644, Typeflag: tar.TypeReg}
		must.Do(tb, archive.WriteHeader(head))
		if _, err := archive.Write([]byte(e.text)); err != nil {
			tb.Fatal(err)
		}
	}
	must.Do(tb, errors.Join(archive.Close(), z.Close()))
	return b.Bytes()
}

// TestRealServeGen checks that the published files have the properties given in docs/inference.md.
func TestRealServeGen(t *testing.T) {
	for _, c := range []struct {
		name       string
		bins, gaps int
		mean       float64 // of the measured bins
		peak       float64
	}{
		{"language_m-large", 2016, 0, 195.844, 582.992},
		{"language_m-small", 2016, 37, 1196.361, 3879.508},
		{"reason_deepseek-r1", 144, 0, 16.015, 42.520},
	} {
		s := serveGen(t, c.name)
		sum, n, peak, trough := 0.0, 0.0, 0.0, math.Inf(1)
		daily := make([]float64, (c.bins+143)/144)
		for i, v := range s.Values {
			if !s.IsFilled(i) {
				sum, n, peak, trough = sum+v, n+1, max(peak, v), min(trough, v)
				daily[i/144] = max(daily[i/144], v)
			}
		}
		t.Logf("%s: %d bins of %v, %d gaps, mean %.3f, peak %.3f, trough %.3f requests/s, daily peaks %.0f",
			c.name, len(s.Values), s.Step, filled(s), sum/n, peak, trough, daily)
		if len(s.Values) != c.bins || filled(s) != c.gaps || s.Step != 10*time.Minute {
			t.Errorf("%s: %d bins of %v with %d gaps, want %d with %d", c.name, len(s.Values), s.Step, filled(s), c.bins, c.gaps)
		}
		if math.Abs(sum/n-c.mean) > 0.001 || math.Abs(peak-c.peak) > 0.001 {
			t.Errorf("%s: mean %.3f, peak %.3f, want %.3f, %.3f", c.name, sum/n, peak, c.mean, c.peak)
		}
	}
}

// TestServeGenIsSafeAtOnce checks that two goroutines can read a series concurrently.
func TestServeGenIsSafeAtOnce(t *testing.T) {
	file := pack(t, entry{"chunk-0-trace.csv", "0,1,0,,0,0\n600,2,0,,0,0\n"})
	results := make(chan inference.Series)
	for range 2 {
		go func() {
			s, err := inference.ReadServeGenFrom(bytes.NewReader(file), "x")
			if err != nil {
				t.Error(err)
			}
			results <- s
		}()
	}
	if a, b := <-results, <-results; a.Values[1] != 2 || b.Values[1] != 2 {
		t.Errorf("read %v and %v", a, b)
	}
}

func TestServeGenSums(t *testing.T) {
	file := pack(t,
		entry{"dir/chunk-0-trace.csv", "0,1.5,1,Gamma,0.5,2\n600,0,0,,0,0\n1200,3,1,Weibull,1,1\n"},
		entry{"dir/chunk-7-trace.csv", "600,4,1,Gamma,0.5,2\r\n\r\n"})
	s := must.Get(inference.ReadServeGenFrom(bytes.NewReader(file), "x.tar.gz"))(t)
	for i, want := range []float64{1.5, 4, 3} {
		if s.Values[i] != want {
			t.Errorf("values %v, want [1.5 4 3]", s.Values)
		}
	}
}

func TestBadServeGen(t *testing.T) {
	good := "0,1,0,,0,0\n"
	for _, c := range []struct {
		name    string
		entries []entry
		want    string
	}{
		{"no entries", nil, "x.tar.gz: no rows in 0 files"},
		{"another file", []entry{{"chunk-0-trace.csv", good}, {"notes.txt", "hello"}}, `"notes.txt": not a file chunk-*.csv`},
		{"the same file twice", []entry{{"chunk-0-trace.csv", good}, {"chunk-0-trace.csv", good}}, "stands twice"},
		{"a field too few", []entry{{"chunk-0-trace.csv", good + "600,1,0,,0\n"}}, `"chunk-0-trace.csv":2: 5 fields, want 6`},
		{"a rate in words", []entry{{"chunk-3-trace.csv", "0,many,0,,0,0\n"}},
			`:1: field "rate": value "many", want a number from 0`},
		{"a negative rate", []entry{{"chunk-3-trace.csv", "0,-1,0,,0,0\n"}}, `field "rate": value "-1"`},
		{"a rate that is no number", []entry{{"chunk-3-trace.csv", "0,NaN,0,,0,0\n"}}, `field "rate": value "NaN"`},
		{"a start between bins", []entry{{"chunk-3-trace.csv", "1,1,0,,0,0\n"}},
			`field "start": value "1", want a multiple of 600, at least 0`},
		{"a start that comes back", []entry{{"chunk-3-trace.csv", good + good}},
			`:2: field "start": value "0", want a multiple of 600, at least 600`},
		{"a start beyond all bounds", []entry{{"chunk-3-trace.csv", "600000000000,1,0,,0,0\n"}}, `field "start"`},
		{"an unknown distribution", []entry{{"chunk-3-trace.csv", "0,1,0,Zipf,0,0\n"}},
			`value "Zipf", want Gamma, Weibull or nothing`},
		{"a parameter in words", []entry{{"chunk-3-trace.csv", "0,1,0,Gamma,0,x\n"}}, `field "parameter 2": value "x"`},
		{"a long line", []entry{{"chunk-3-trace.csv", "0," + strings.Repeat("1", 5000) + ",0,,0,0\n"}},
			"more than 4096 bytes in a line"},
	} {
		_, err := inference.ReadServeGenFrom(bytes.NewReader(pack(t, c.entries...)), "x.tar.gz")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "x.tar.gz") {
			t.Errorf("%s: error %v, want %q in it", c.name, err, c.want)
		}
	}
	whole := pack(t, entry{"chunk-0-trace.csv", strings.Repeat(good, 1)})
	for _, n := range []int{0, 5, 20, len(whole) - 4} {
		if _, err := inference.ReadServeGenFrom(bytes.NewReader(whole[:n]), "x"); err == nil {
			t.Errorf("the first %d of %d bytes are read without error", n, len(whole))
		}
	}
	if _, err := inference.ReadServeGen(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is read")
	}
}

func FuzzServeGen(f *testing.F) {
	f.Add(pack(f, entry{"chunk-0-trace.csv", "0,1.5,1,Gamma,0.5,2\n600,0,0,,0,0\n"}))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if s, err := inference.ReadServeGenFrom(bytes.NewReader(file), "x"); err == nil {
			fit(t, s)
		}
	})
}

// FuzzChunk fuzzes the rows inside a valid archive.
func FuzzChunk(f *testing.F) {
	f.Add("0,1.5,1,Gamma,0.5,2\n600,0,0,,0,0\n1200,3,1,Weibull,1,1\n")
	f.Add("0,1e300,0,,0,0\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := pack(t, entry{"chunk-0.csv", text}, entry{"chunk-1.csv", text})
		if s, err := inference.ReadServeGenFrom(bytes.NewReader(file), "x"); err == nil {
			fit(t, s)
		}
	})
}

// fit checks that a reader's result is a valid series.
func fit(t *testing.T, s inference.Series) {
	if err := s.Check(); err != nil {
		t.Errorf("read without error: %v", err)
	}
}
