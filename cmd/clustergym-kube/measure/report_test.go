package measure

import (
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestReports(t *testing.T) {
	for _, c := range []struct {
		value string
		want  reported
		err   string
	}{
		{"1843.2@2026-06-01T11:59:00Z", reported{1843.2, noon.Add(-time.Minute)}, ""},
		{"1e3@2026-06-01T13:59:00.5+02:00", reported{1000, noon.Add(-59500 * time.Millisecond)}, ""},
		{"7@2026-06-01T12:00:59Z", reported{7, noon}, ""},
		{"7@2026-06-01T12:01:01Z", reported{}, `instant "2026-06-01T12:01:01Z" is in the future`},
		{"7", reported{}, `"7", want NUMBER@INSTANT`},
		{"", reported{}, `"", want NUMBER@INSTANT`},
		{"0@2026-06-01T11:59:00Z", reported{}, `throughput "0", want a number above 0`},
		{"-1@2026-06-01T11:59:00Z", reported{}, `throughput "-1"`},
		{"NaN@2026-06-01T11:59:00Z", reported{}, `throughput "NaN"`},
		{"Inf@2026-06-01T11:59:00Z", reported{}, `throughput "Inf"`},
		{"1e16@2026-06-01T11:59:00Z", reported{}, `throughput "1e16"`},
		{"fast@2026-06-01T11:59:00Z", reported{}, `throughput "fast"`},
		{"7@yesterday", reported{}, `instant "yesterday", want one such as`},
		{"7@0001-01-01T00:00:00Z", reported{}, `instant "0001-01-01T00:00:00Z", want one such as`},
		{strings.Repeat("7", 65), reported{}, "65 bytes, want at most 64"},
	} {
		got, err := parseReport(c.value, noon)
		if c.err == "" && (err != nil || got.speed != c.want.speed || !got.at.Equal(c.want.at)) {
			t.Errorf("%q: %v, %v, want %v", c.value, got, err, c.want)
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q: error %v, want one with %q", c.value, err, c.err)
		}
	}
}

// FuzzReport checks that what is accepted can be given to a State.
func FuzzReport(f *testing.F) {
	f.Add("1843.2@2026-06-01T11:59:00Z")
	f.Add("1e-300@1970-01-01T00:00:00+23:59")
	f.Fuzz(func(t *testing.T, value string) {
		if r, err := parseReport(value, noon); err == nil && (!plausible(r.speed) || r.at.After(noon) || r.at.Year() < 1969) {
			t.Fatalf("%q is read as %v", value, r)
		}
	})
}
