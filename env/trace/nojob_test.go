package trace

import (
	"strings"
	"testing"
)

// TestNoJob checks for every format that reading a trace without a job returns an error with the file and the counts of its rows.
func TestNoJob(t *testing.T) {
	for _, l := range layouts() {
		if l.instead != "" || l.open != nil && !l.loose {
			continue // no table with a header
		}
		header := strings.Join(l.required, ",")
		for _, text := range []string{header, header + "\n", header + "\r\n\n\n"} {
			if w, err := readText(text, Options{Format: l.format}); err == nil || !strings.Contains(err.Error(), "t.csv: no job: no row after the header") {
				t.Errorf("%s, header alone: %d jobs, error %v", l.format, len(w.Jobs), err)
			}
		}
	}
	for _, c := range []struct {
		format Format
		row    string
		want   string
	}{
		{Helios, "0,1,0,4,1,0,84,0,Pass", "t.csv: no job: 1 rows, of which 1 ask for no GPU"},
		{OpenB, "p2,1,1,8,1000,LS,BE,Pending,10,100,", "1 rows, of which 1 were never scheduled"},
		{Native, "1,x,0,5", "1 rows, of which 1 cannot be read, such as t.csv:2: column \"num_gpu\""},
	} {
		var header string
		for _, l := range layouts() {
			if l.format == c.format {
				header = strings.Join(l.required, ",")
			}
		}
		_, err := readText(header+"\n"+c.row+"\n", Options{Format: c.format, SkipBadRows: true})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.format, err, c.want)
		}
	}
}
