package cli

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// TestTraceImportOfOthers checks what trace import says of files that other programs wrote, and that their jobs arrive.
func TestTraceImportOfOthers(t *testing.T) {
	for _, c := range []struct {
		name, text string
		more       []string
		code       int
		want       string // in what it says
		jobs       string // ids of the jobs
	}{
		{"dates.csv", "job_id,num_gpu,submit_time,duration\na,2,2026-11-20 08:00:00.5+01:00,0 days 00:01:00\nb,0,2026-11-20 08:00:05+01:00,NaT\n", nil, 0,
			"dates: 1 of 2 rows ask for no GPU and are set aside\n", "a"},
		{"unknown.csv", "Id,GPUs,Queued At,Owner\n1,2,3,x\n", nil, cmdline.CodeError,
			"did you mean --columns 'job_id=Id,num_gpu=GPUs,submit_time=Queued At,user=Owner'? No column looks like duration: add duration=COLUMN", ""},
		{"log.swf", ";\n 1 0 1 60 4 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1\n", nil, cmdline.CodeError, "add --columns num_gpu=processors", ""},
		{"log.swf", ";\n 1 0 1 60 4 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1\n", []string{"--columns", "num_gpu=processors"}, 0, "", "1"},
	} {
		s := command(t, append([]string{"trace", "import", file(t, c.name, c.text)}, c.more...)...)
		var ids []string
		for line := range strings.Lines(s.out) {
			if id, _, ok := strings.Cut(line, ","); ok && id != "job_id" {
				ids = append(ids, id)
			}
		}
		if s.code != c.code || !strings.Contains(s.talk, c.want) || strings.Join(ids, " ") != c.jobs {
			t.Errorf("%s: exit code %d, %s, jobs %v, want %s, jobs %s", c.name, s.code, s.talk, ids, c.want, c.jobs)
		}
	}
}
