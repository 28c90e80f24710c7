package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/clustergym/clustergym/internal/atomicfile"
)

// commandFile has the command line of an evaluation whose results are in its folder.
const commandFile = "command.txt"

// folder returns the folder for the results. The folder of --out is taken as it is. The default folder is not taken if it has the
// results of another command: the next free one is, and what the other command has played is copied to it and not played again.
func (o *evalOptions) folder(a *app, suites []suite) (string, error) {
	if o.Out != "" {
		return o.Out, nil
	}
	base := filepath.Join("runs", "eval")
	if len(suites) == 1 {
		base += "-" + suites[0].source.Scenario().Name
	}
	for n, dir, before := 1, base, ""; ; n++ {
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", base, n)
		}
		other, err := o.isAnothers(dir)
		if err != nil {
			return "", err
		}
		if !other {
			if before != "" {
				a.Say("%s has the results of another command: --out %s replaces them", before, before)
				err = copyPlayed(before, dir)
			}
			return dir, err
		}
		before = dir
	}
}

// isAnothers reports whether a folder has the results of another command line.
func (o *evalOptions) isAnothers(dir string) (bool, error) {
	text, err := os.ReadFile(filepath.Join(dir, commandFile))
	if err == nil {
		return string(text) != o.command()+"\n", nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("find a folder for the results: %w", err)
	}
	_, err = os.Stat(filepath.Join(dir, "report.html"))
	return err == nil, nil // without a report, a command was interrupted there: nothing is replaced
}

// copyPlayed copies the finished cases of a folder to another one, unless that has some already.
func copyPlayed(from, to string) error {
	if _, err := os.Lstat(filepath.Join(to, "journal.jsonl")); err == nil {
		return nil
	}
	err := os.CopyFS(filepath.Join(to, "schedules"), os.DirFS(filepath.Join(from, "schedules")))
	for _, name := range []string{"timing.jsonl", "journal.jsonl"} {
		var text []byte
		if err == nil {
			text, err = os.ReadFile(filepath.Join(from, name))
		}
		if err == nil {
			err = atomicfile.WriteBytes(filepath.Join(to, name), 0o666, text)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) { // what is missing is played again
		return fmt.Errorf("copy finished cases: %w", err)
	}
	return nil
}
