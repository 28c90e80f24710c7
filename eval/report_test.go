package eval

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// wellFormed counts the elements of an XML document by name.
func wellFormed(t *testing.T, doc []byte) map[string]int {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(doc))
	elements := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		elements[e.Name.Local]++
		for _, a := range e.Attr {
			if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Fatalf("<%s %s=%q>", e.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
}

func TestGanttDrawsEveryJobOnce(t *testing.T) {
	var b bytes.Buffer
	log := timeline(t)
	log.Jobs[0].Name = `<a & "b">`
	if err := WriteGantt(&b, log, log); err != nil {
		t.Fatal(err)
	}
	e := wellFormed(t, b.Bytes())
	if want := 2 * (3 + 1); e["svg"] != 1 || e["path"] != want || e["title"] != want {
		t.Errorf("%d paths with %d titles, want %d: three jobs and a queue, twice", e["path"], e["title"], want)
	}
	// b holds all four GPUs from 20 to 45 of 70 s: one box over both servers.
	box := fmt.Sprintf(`M%s 34h%sv96h-%sz"`, px(74+20./70*1010), px(25./70*1010), px(25./70*1010))
	if !strings.Contains(b.String(), box) {
		t.Errorf("no box %s in\n%s", box, b.String())
	}
}

func TestGanttMergesSharesAndDropsTitlesOfManyJobs(t *testing.T) {
	half := job("half", 0, time.Minute, 2)
	half.Request.GPUMilli = 500
	jobs := []trace.Job{half}
	for range titledJobs {
		jobs = append(jobs, job("never", time.Hour, time.Second, 1))
	}
	place := &script{"place", func(tx *cluster.Txn) error {
		if tx.Now() > 0 {
			return nil
		}
		return tx.Place(0, cluster.Placement{{Workers: 2, Amount: half.Request}})
	}}
	log := episode(t, sim.Config{Cluster: cluster.Uniform(1, 2), Horizon: 2 * time.Minute}, jobs, place)
	var b bytes.Buffer
	if err := WriteGantt(&b, log); err != nil {
		t.Fatal(err)
	}
	if e := wellFormed(t, b.Bytes()); e["path"] != 2 || e["title"] != 1 || !strings.Contains(b.String(), ` h" d="M74 34h`) {
		t.Errorf("%d paths, %d titles in\n%s", e["path"], e["title"], b.String())
	}
}

func TestWaitingDemand(t *testing.T) {
	// c waits from 30 to 45, a again from 20 to 45: one GPU and two.
	got := fmt.Sprint(waiting(timeline(t), 70*time.Second, 14))
	if want := "[0 0 0 0 2 2 3 3 3 3 0 0 0 0]"; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestChartsOfNothingAreErrors(t *testing.T) {
	if err := WriteCDF(io.Discard, nil); err == nil {
		t.Error("no error for a CDF of no results")
	}
	if err := WriteGantt(io.Discard); err == nil {
		t.Error("no error for a Gantt chart of no log")
	}
	if err := WriteGantt(io.Discard, &sim.Log{}); err == nil {
		t.Error("no error for a Gantt chart of an empty log")
	}
}

func TestCDFOfEpisodesWithoutFinishedJobs(t *testing.T) {
	var b bytes.Buffer
	if err := WriteCDF(&b, made()); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.Bytes())
}

// The same plan writes the same bytes; the page needs no other file; every chart is well-formed and light.
func TestReport(t *testing.T) {
	s, err := scenario.Load("embedded-small-v1")
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for range 2 {
		results, err := Run(t.Context(), smallPlan(t, "fifo", "sjfskip", "srtf"), nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Compare(results, "fifo")
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, filepath.Join(t.TempDir(), "new", "report"))
		if err := WriteReport(dirs[len(dirs)-1], Report{Comparison: c, Results: results, Scenario: s}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"report.html", "results.json", "results.jsonl", "cdf.svg", "gantt.svg"} {
		first, err := os.ReadFile(filepath.Join(dirs[0], name))
		if err != nil {
			t.Fatal(err)
		}
		second, err := os.ReadFile(filepath.Join(dirs[1], name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) || len(first) == 0 || len(first) > 1<<20 {
			t.Errorf("%s: %d and %d bytes, same %v", name, len(first), len(second), bytes.Equal(first, second))
		}
		switch filepath.Ext(name) {
		case ".svg":
			wellFormed(t, first)
		case ".html":
			page := strings.ReplaceAll(string(first), `xmlns="http://www.w3.org/2000/svg"`, "")
			for _, foreign := range []string{"http:", "https:", "src=", "href=", "url(", "@import", "<script", "ZgotmplZ"} {
				if strings.Contains(page, foreign) {
					t.Errorf("the page holds %q", foreign)
				}
			}
			for _, want := range []string{"<b>", "srtf", "name: embedded-small-v1", "gantt", "test split"} {
				if !strings.Contains(page, want) {
					t.Errorf("the page lacks %q", want)
				}
			}
		}
	}
}

func TestShortTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0", 250 * time.Millisecond: "250 ms", 90 * time.Second: "1.5 min",
		6 * time.Hour: "6 h", 36 * time.Hour: "1.5 d", 2400 * time.Hour: "100 d"} {
		if got := shortTime(d); got != want {
			t.Errorf("shortTime(%v) = %q, want %q", d, got, want)
		}
	}
}
