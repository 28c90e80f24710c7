package cluster

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hostile returns a snapshot with the given servers and jobs, after the other fields in rules.
func hostile(rules, servers, jobs string) string {
	return fmt.Sprintf(`{"version":1,"now_s":0,%s"servers":[%s],"jobs":[%s]}`, rules, servers, jobs)
}

const aServerOf = `{"name":"%s","gpus":%d,"cpu_milli":null,"mem_mib":null}`

// many joins the texts that a function returns for 0 to n-1.
func many(n int, text func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(text(i))
	}
	return b.String()
}

func numbers(n int) string { return many(n, func(i int) string { return fmt.Sprint(i) }) }

// TestHostileSnapshotsAreReadInLinearTime checks that the time to read a text is linear in its length, whichever part of it is
// long: about that of an ordinary text of the same size. The bound is far above that time, and far below the time that quadratic
// reading would take.
func TestHostileSnapshotsAreReadInLinearTime(t *testing.T) {
	long := strings.Repeat("k", 250_000)
	one := fmt.Sprintf(aServerOf, "a", 2)
	tiny := func(n int) string {
		return many(n, func(i int) string {
			return fmt.Sprintf(`{"id":"%d","tenant":"x","submit_s":0,"workers":1,"state":"pending"}`, i)
		})
	}
	plain := hostile("", one, tiny(60_000)) // 4 MB
	began := time.Now()
	if _, err := ReadSnapshot(strings.NewReader(plain)); err != nil {
		t.Fatal(err)
	}
	most := 5*time.Since(began) + 500*time.Millisecond
	for _, c := range []struct {
		name, text string
		want       string // expected in the error, "" for no error
	}{
		{"a long key before many elements", hostile(`"`+long+`":[`+strings.Repeat("0,", 125_000)+`0],`, one, ""), "kkk...: unknown field"},
		{"a long key of a job", hostile("", one, `{"id":"a","`+long+`":[`+strings.Repeat("0,", 125_000)+`0]}`), "kkk...: unknown field"},
		{"many unknown keys", hostile("", one, "{"+many(60_000, func(i int) string { return fmt.Sprintf(`"%d":0`, i) })+"}"), "jobs[0].0: unknown field"},
		{"a long name", hostile("", fmt.Sprintf(aServerOf, long, 1), ""), "want 1 to 256 bytes"},
		{"a long number", hostile(`"offer":`+strings.Repeat("9", 500_000)+`,`, one, ""), "offer: 999"},
		{"much depth", hostile("", one, strings.Repeat("[", 250_000)+strings.Repeat("]", 250_000)), "exceeded max depth"},
		{"an unfinished list", `{"version":1,"jobs":[` + strings.Repeat("{},", 200_000), "unexpected EOF"},
		{"many quotas and jobs", hostile(`"quotas":[`+many(60_000, func(i int) string { return fmt.Sprintf(`{"tenant":"%d","gpus":1}`, i) })+
			`],`, one, tiny(30_000)), ""},
		{"many GPUs out of order", hostile("", many(50, func(i int) string {
			return fmt.Sprintf(`{"name":"%d","gpus":16384,"cpu_milli":null,"mem_mib":null,"out_of_order":[%s]}`, i, numbers(16384))
		}), ""), ""},
		{"large gangs", hostile("", many(50, func(i int) string { return fmt.Sprintf(aServerOf, fmt.Sprint(i), 16384) }),
			many(50, func(i int) string {
				return fmt.Sprintf(`{"id":"%d","submit_s":0,"workers":16384,"state":"running","placement":[{"server":"%d","workers":16384,"gpus":[%s]}]}`,
					i, i, numbers(16384))
			})), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			_, err := ReadSnapshot(strings.NewReader(c.text))
			if took := time.Since(began); took > most {
				t.Errorf("%d bytes took %v, want at most %v", len(c.text), took, most)
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if err != nil && len(err.Error()) > 500 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
}

// allocated returns the total number of bytes that a function allocates, and the peak of memory in use above that before the
// call.
func allocated(f func()) (total, peak uint64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	stop, peaks := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		for {
			select {
			case <-stop:
				peaks <- most
				return
			case <-time.After(5 * time.Millisecond):
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc)
			}
		}
	}()
	f()
	runtime.ReadMemStats(&after)
	close(stop)
	if most := max(<-peaks, after.HeapAlloc); most > before.HeapAlloc {
		peak = most - before.HeapAlloc
	}
	return after.TotalAlloc - before.TotalAlloc, peak
}

// TestHostileSnapshotsAreReadInBoundedMemory checks that limits apply while a snapshot is read: the reader does not store what it
// will reject in the end.
func TestHostileSnapshotsAreReadInBoundedMemory(t *testing.T) {
	one := fmt.Sprintf(aServerOf, "a", 2)
	job := `{"id":"%d","submit_s":0,"workers":1,"state":"pending"}`
	for _, c := range []struct {
		name, text string
		most       uint64 // maximum MB in use, without the text
		want       string // expected in the error, "" for no error
	}{
		{"60 MB of elements that are none", hostile("", one, strings.Repeat(`{"":0},`, 60_000_000/7)+`{"":0}`), 10, `jobs[0]."": unknown field`},
		{"20 MB of them after a job", hostile("", one, fmt.Sprintf(job, 0)+strings.Repeat(`,{"":0}`, 20_000_000/7)), 10, `jobs[1]."": unknown field`},
		{"12 MB of tiny jobs", hostile("", one, many(12_000_000/56, func(i int) string { return fmt.Sprintf(job, i) })), 188, ""},
		{"more servers than there may be", hostile("", strings.Repeat("0,", 10e6)+"0", ""), 10, "servers[0]: 0, want an object"},
		{"one large server of very many", hostile("", many(100_000, func(i int) string {
			return fmt.Sprintf(aServerOf, fmt.Sprint(i), 16384*(i/99_999))
		}), ""), 100, "servers[99999].gpus: 16384, want at most 4194304 servers times the GPUs of the largest"},
		{"very many GPUs", hostile("", many(1000, func(i int) string { return fmt.Sprintf(aServerOf, fmt.Sprint(i), 16384) }), ""), 20,
			"servers[256].gpus: 16384, want at most 4194304"},
		{"very many sets of servers", hostile("", many(50_000, func(i int) string { return fmt.Sprintf(aServerOf, fmt.Sprint(i), 1) }),
			many(20_000, func(i int) string {
				return fmt.Sprintf(`{"id":"%d","submit_s":0,"workers":1,"state":"pending","servers":["%d"]}`, i, i)
			})), 200, "jobs[5368].servers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := []byte(c.text)
			var err error
			total, peak := allocated(func() { _, err = ParseSnapshot(t.Context(), text) })
			t.Logf("%d MB: %d MB allocated, %d MB in use at most", len(c.text)/1e6, total/1e6, peak/1e6)
			if peak > c.most*1e6 {
				t.Errorf("%d MB in use, want at most %d", peak/1e6, c.most)
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
