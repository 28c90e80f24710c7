//go:build unix

package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	require "github.com/clustergym/clustergym/internal/must"
)

// TestOutputsReplaceOnlyFiles checks, for every command that writes a file that the user names, that a pipe stays one and gives its
// reader what a file would contain, that a link stays one and the file that it leads to is written, and that a folder is refused.
func TestOutputsReplaceOnlyFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	trace := file(t, "jobs.csv", jobs)
	decisions := file(t, "decisions.jsonl", decided(1060, fmt.Sprintf(recorded, 60))+decided(1120))
	log := filepath.Join(dir, "log.jsonl")
	simulate := []string{"simulate", "--trace", trace, "--servers", "2", "--gpus-per-server", "4", "--policy", "las"}
	must(t, append(simulate, "--log-out", log)...)
	for name, args := range map[string][]string{
		"jobs-out": append(simulate, "--jobs-out"),
		"log-out":  append(simulate, "--log-out"),
		"gantt":    append(simulate, "--gantt"),
		"gen":      {"trace", "gen", "--jobs", "20", "--seed", "7", "--load", "1", "--gpus", "16", "-o"},
		"import":   {"trace", "import", trace, "-o"},
		"record":   {"trace", "import", decisions, "-o"},
		"beliefs":  {"beliefs", log, "--save"},
	} {
		t.Run(name, func(t *testing.T) {
			at := func(name string) string { return filepath.Join(t.TempDir(), name) }
			plain, link, pipe := at("plain.svg"), at("link.svg"), at("pipe.svg") // --gantt wants such a name
			must(t, append(args, plain)...)
			want := read(t, plain)
			require.Do(t, os.Symlink("aside", link))
			must(t, append(args, link)...)
			if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink || read(t, link) != want {
				t.Errorf("the link is now %v, %v, its file is\n%.300s\nwant\n%.300s", info, err, read(t, link), want)
			}
			require.Do(t, syscall.Mkfifo(pipe, 0o600))
			f, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that nobody waits
			require.Do(t, err)
			defer f.Close()
			got := make(chan string)
			go func() {
				text := make([]byte, len(want))
				n, _ := f.Read(text)
				for more := n; more > 0 && n < len(want); n += more {
					more, _ = f.Read(text[n:])
				}
				got <- string(text[:n])
			}()
			must(t, append(args, pipe)...)
			if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
				t.Fatalf("the pipe is now %v, %v", info, err)
			}
			if text := <-got; text != want {
				t.Errorf("the pipe's reader got\n%.300s\nwant\n%.300s", text, want)
			}
			folder := at("folder.svg")
			require.Do(t, os.Mkdir(folder, 0o700))
			if s := command(t, append(args, folder)...); s.code == 0 || !strings.Contains(s.talk, "it is a folder, want a file") {
				t.Errorf("a folder: exit code %d, %s", s.code, s.talk)
			}
		})
	}
}
