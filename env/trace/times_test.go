package trace

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

func TestReadTime(t *testing.T) {
	day := time.Date(2026, 3, 29, 10, 0, 0, 0, time.UTC)
	since := func(d time.Duration) time.Duration { return time.Duration(day.Unix())*time.Second + d }
	for _, c := range []struct {
		text string
		at   time.Duration
		form form
		want string // part of what was expected, if the text is no time
	}{
		{"0", 0, inSeconds, ""},
		{"12.5", 12500 * time.Millisecond, inSeconds, ""},
		{"1774778400", since(0), inSeconds, ""},
		{"1.7747784e9", since(0), inSeconds, ""},
		{"1.7747784005E+09", since(time.Second / 2), inSeconds, ""},
		{"5e-1", time.Second / 2, inSeconds, ""},
		{"0.30000000000000004", 300 * time.Millisecond, inSeconds, ""},
		{"1774778400123", since(123 * time.Millisecond), inMillis, ""},
		{"1.774778400123e12", since(123 * time.Millisecond), inMillis, ""},
		{"1774778400123456", since(123456 * time.Microsecond), inMicros, ""},
		{"1774778400123456789", since(123456789), inNanos, ""},
		{"2026-03-29T10:00:00", since(0), localDate, ""},
		{"2026-03-29 10:00:00", since(0), localDate, ""},
		{"2026-03-29 10:00:00.123456", since(123456 * time.Microsecond), localDate, ""},
		{"2026-03-29 10:00:00,5", since(time.Second / 2), localDate, ""},
		{"2026/03/29 10:00:00", since(0), localDate, ""},
		{"2026-03-29 10:00", since(0), localDate, ""},
		{"2026-03-29", since(-10 * time.Hour), localDate, ""},
		{"2026-03-29T10:00:00Z", since(0), zonedDate, ""},
		{"2026-03-29t10:00:00z", since(0), zonedDate, ""},
		{"2026-03-29 10:00:00.123456+00:00", since(123456 * time.Microsecond), zonedDate, ""},
		{"2026-03-29 18:00:00+08:00", since(0), zonedDate, ""},
		{"2026-03-29 18:00:00+0800", since(0), zonedDate, ""},
		{"2026-03-29 18:00:00 +08:00", since(0), zonedDate, ""},
		{"2026-03-29T18:00:00+08", since(0), zonedDate, ""},
		{"2026-03-29T06:30:00-03:30", since(0), zonedDate, ""},
		{"2026-03-29 10:00:00 UTC", since(0), zonedDate, ""},
		{"-1", 0, 0, "not negative"},
		{"1969-12-31 23:59:59", 0, 0, "a date from 1970 to 2069"},
		{"2026-13-01 00:00:00", 0, 0, "seconds, or a date"},
		{"2026-02-30 00:00:00", 0, 0, "seconds, or a date"},
		{"2026-03-29 10:00:00 CET", 0, 0, `an offset from UTC, such as +01:00, Z or nothing, in place of "CET"`},
		{"2026-03-29T10:00:00[Europe/Berlin]", 0, 0, `in place of "[Europe/Berlin]"`},
		{"03/29/2026 10:00:00", 0, 0, "which of these is the day and which the month?"},
		{"29.3.2026 10:00", 0, 0, "which of these is the day and which the month?"},
		{"12,5", 0, 0, "a number without commas"},
		{"4e9", 0, 0, "seconds from 0 to 3153600000, or milliseconds"},
		{"1e99", 0, 0, "seconds, or a date"}, {"1e", 0, 0, "seconds, or a date"}, {"soon", 0, 0, "seconds, or a date"},
		{"2026-03-29x", 0, 0, "seconds, or a date"}, {"T", 0, 0, "seconds, or a date"}, {"+1", 0, 0, "seconds, or a date"},
	} {
		at, f, want := readTime(c.text)
		if at != c.at || f != c.form || (want == "") != (c.want == "") || !strings.Contains(want, c.want) {
			t.Errorf("%q: %v, %v, %q, want %v, %v, %q", c.text, at, f, want, c.at, c.form, c.want)
		}
	}
}

func TestReadSpan(t *testing.T) {
	const hms = time.Hour + 2*time.Minute + 3*time.Second
	const day = 24 * time.Hour
	for _, c := range []struct {
		text string
		d    time.Duration
		want string
	}{
		{"3723", hms, ""}, {"3.723e3", hms, ""}, {"3723.0", hms, ""},
		{"01:02:03", hms, ""}, {"1:02:03", hms, ""}, {"25:02:03", day + hms, ""}, {"1:02:03.5", hms + time.Second/2, ""},
		{"0 days 01:02:03", hms, ""}, {"0 days 01:02:03.500000", hms + time.Second/2, ""}, {"2 days 01:02:03", 2*day + hms, ""},
		{"1 day 01:02:03", day + hms, ""}, {"1 day, 1:02:03", day + hms, ""}, {"3 days, 1:02:03.5", 3*day + hms + time.Second/2, ""},
		{"1 days", day, ""}, {"0 days", 0, ""}, {"0 days +01:02:03", hms, ""},
		{"1-02:03:04", day + hms + time.Hour + time.Minute + time.Second, ""},
		{"P0DT1H2M3S", hms, ""}, {"P1DT0H0M0.5S", day + time.Second/2, ""}, {"PT90M", 90 * time.Minute, ""},
		{"1h2m3s", hms, ""}, {"1.5h", 90 * time.Minute, ""},
		{"-1 days +23:59:59", 0, "not negative"}, {"-5", 0, "not negative"},
		{"02:03", 0, "such as 0:02:03 or 02:03:00"},
		{"3723000000000", 0, "milliseconds or nanoseconds"},
		{"12,5", 0, "a number without commas"},
		{"P", 0, "seconds from 0"}, {"PT", 0, "seconds from 0"}, {"1:2:3:4", 0, "seconds from 0"}, {"UNLIMITED", 0, "seconds from 0"},
		{"99999 days 999999999:00:00", 0, "seconds from 0"},
	} {
		d, want := readSpan(c.text)
		if d != c.d || (want == "") != (c.want == "") || !strings.Contains(want, c.want) {
			t.Errorf("%q: %v, %q, want %v, %q", c.text, d, want, c.d, c.want)
		}
	}
}

// TestPlain checks that scientific notation is read exactly.
func TestPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1e6).Draw(t, "digits")
		decimals, exponent := rapid.IntRange(0, 4).Draw(t, "decimals"), rapid.IntRange(-4, 3).Draw(t, "exponent")
		digits := fmt.Sprintf("%0*d", decimals+1, n)
		point := len(digits) - decimals
		text := fmt.Sprintf("%s.%se%+d", digits[:point], digits[point:], exponent)
		want := n
		for range 9 - decimals + exponent {
			want *= 10
		}
		if got, ok := parseDecimal(plain(text), 9); !ok || got != want {
			t.Fatalf("%s is %s, %d, want %d", text, plain(text), got, want)
		}
	})
}

// TestTimesOfOneColumn checks that the times of a column that cannot be compared are an error with both forms, and what is said
// of times without a zone and of milliseconds.
func TestTimesOfOneColumn(t *testing.T) {
	const local, zoned = "2026-11-20 08:00:00", "2026-11-20 08:00:00+01:00"
	forms := map[string]string{"seconds": "5", "milliseconds since 1970": "1774778400123", "a date without time zone": local,
		"a date with time zone": zoned, "nanoseconds since 1970": "1774778400123456789"}
	for a, first := range forms {
		for b, second := range forms {
			_, err := readText(nativeHead+"a,1,"+first+",1\n\nb,1,"+second+",1\n", Options{})
			want := fmt.Sprintf(`t.csv:4: column "submit_time": value %q, want one form in all rows: this is %s, and the first (%q in line 2) %s`,
				second, b, first, a)
			if a == b && err != nil || a != b && (err == nil || err.Error() != want) {
				t.Errorf("%s, then %s: %v", a, b, err)
			}
		}
	}
	for text, want := range map[string]string{
		local: "submit times, such as " + local + ", have no time zone: they are read as UTC", zoned: "",
		"1774778400123": "read as milliseconds since 1970 by their size, and durations as seconds", "5": "",
	} {
		w := must.Get(readText(nativeHead+"a,1,"+text+",1\n", Options{}))(t)
		lines := w.Report.Lines()
		if want == "" && len(lines) > 0 || want != "" && (len(lines) != 1 || !strings.Contains(lines[0], want)) {
			t.Errorf("%s: %q, want %q", text, lines, want)
		}
	}
}

// TestRowsThatAreNoJobs checks that rows without what a job must have are counted, each for its own reason, and in words for people.
func TestRowsThatAreNoJobs(t *testing.T) {
	const head = "job_id,num_gpu,submit_time,begin,finish,status\n"
	w, err := readText(head+"a,1,10,20,80,COMPLETED\na,1,10,20,80,COMPLETED\nb,0,10,20,80,FAILED\nc,NaN,1,2,3,\nd,1,,20,80,\ne,1,1,None,80,\n"+
		"f,1,1,20,NaT,\ng,1,1,20,20,\nh,1,1,20,80,RUNNING\ni,2.0,1,20,80.0,CANCELLED by 1001\nj,1,1,2,3,PENDING\n",
		Options{Columns: Columns{"duration=finish-begin"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Jobs) != 2 || w.Jobs[0].Status != Passed || w.Jobs[1].Status != Killed || w.Jobs[1].Workers != 2 || w.Jobs[1].Work != time.Minute {
		t.Errorf("jobs %+v", w.Jobs)
	}
	want := "1 of 11 rows repeat an earlier row and are set aside\n1 of 11 rows ask for no GPU and are set aside\n" +
		"1 of 11 rows do not say how many GPUs and are set aside\n1 of 11 rows have no submit time and are set aside\n" +
		"1 of 11 rows have no start and are set aside\n1 of 11 rows have no end and are set aside\n" +
		"1 of 11 rows ran for no time and are set aside\n1 of 11 rows have not ended and are set aside\n" +
		"1 of 11 rows were never scheduled and are set aside"
	if got := strings.Join(w.Report.Lines(), "\n"); got != want {
		t.Errorf("said\n%s\nwant\n%s", got, want)
	}
}

// FuzzTimes checks that no text makes the readers of times panic or return one out of bounds.
func FuzzTimes(f *testing.F) {
	for _, s := range []string{"2026-03-29 18:00:00+08:00", "1774778400123", "1e-9", "0 days 01:02:03.5", "1-02:03:04", "P1DT2H3M4.5S", "1h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if at, form, want := readTime(s); want == "" && (at < 0 || at > maxTime || form == 0) {
			t.Fatalf("%q is %v, %v", s, at, form)
		}
		if d, want := readSpan(s); want == "" && (d < 0 || d > maxTime) {
			t.Fatalf("%q lasts %v", s, d)
		}
	})
}
