package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/clustergym/clustergym/internal/atomicfile"
)

// Lab runs experiments in the repository whose root folder is Root.
type Lab struct {
	Root string
	// Command runs a command line of clustergym or clustergym-studies in Root, with additions to the environment, and returns what
	// it prints to standard output.
	Command func(ctx context.Context, env []string, args ...string) ([]byte, error)
	Say     func(format string, args ...any) // says what is done
	Only    *regexp.Regexp                   // of markers: the tables to play; nil for all
	Workers int                              // processes in which evaluations play; 0 for none
}

// Run trains what the experiment needs, plays its tables and writes them to their pages. A training that has ended is not
// repeated, and one that was stopped goes on; so does an evaluation.
func (l *Lab) Run(ctx context.Context, f *File) error {
	runs, err := f.Runs()
	if err != nil {
		return err
	}
	for i, t := range runs {
		l.Say("%s: training %d of %d, %s", f.Name, i+1, len(runs), t.Dir)
		if err := l.train(ctx, f, t); err != nil {
			return fmt.Errorf("%s:%d: train %s: %w", f.path, t.line, t.Dir, err)
		}
	}
	return l.play(ctx, f, func(path, now, want string) error {
		if now == want {
			return nil
		}
		return atomicfile.WriteBytes(filepath.Join(l.Root, path), 0o644, []byte(want))
	})
}

// Check plays the tables of an experiment and returns what differs from its pages. It trains nothing.
func (l *Lab) Check(ctx context.Context, f *File) error {
	if missing, err := l.Missing(f); err != nil {
		return err
	} else if len(missing) > 0 {
		return fmt.Errorf("%s: %d trainings are missing, the first is %s: clustergym-studies experiment run %s trains them",
			f.path, len(missing), missing[0], f.Name)
	}
	var wrong []error
	err := l.play(ctx, f, func(path, now, want string) error {
		wrong = append(wrong, differ(path, now, want))
		return nil
	})
	return errors.Join(append(wrong, err)...)
}

// Missing returns the folders of trainings of which there is no run yet.
func (l *Lab) Missing(f *File) (dirs []string, err error) {
	runs, err := f.Runs()
	for _, t := range runs {
		if _, err := os.Stat(filepath.Join(l.Root, t.Dir)); errors.Is(err, fs.ErrNotExist) {
			dirs = append(dirs, t.Dir)
		}
	}
	return dirs, err
}

func (l *Lab) train(ctx context.Context, f *File, t Training) error {
	args := append(strings.Fields(t.Run), "--dir", t.Dir)
	if t.resumes() {
		if _, err := os.Stat(filepath.Join(l.Root, t.Dir, "run.yaml")); err == nil {
			args = append(args, "--resume")
		} else if t.From != "" {
			args = append(args, "--from", t.From)
		}
	}
	var env []string
	if f.Threads > 0 {
		env = append(env, fmt.Sprintf("GOMAXPROCS=%d", f.Threads))
	}
	_, err := l.Command(ctx, env, args...)
	return err
}

// play computes the tables. For each file that shows one it calls settle with what the file contains, and what it should.
func (l *Lab) play(ctx context.Context, f *File, settle func(path, now, want string) error) error {
	for _, t := range f.Tables {
		if l.Only != nil && !l.Only.MatchString(t.Marker) {
			continue
		}
		l.Say("%s: table %s", f.Name, t.Marker)
		if err := l.table(ctx, f, t, settle); err != nil {
			return fmt.Errorf("%s:%d: table %q: %w", f.path, t.line, t.Marker, err)
		}
	}
	return nil
}

func (l *Lab) table(ctx context.Context, f *File, t Table, settle func(path, now, want string) error) error {
	block, err := l.block(ctx, f, t)
	if err != nil {
		return err
	}
	for _, p := range append([]Pick{{Page: t.Page}}, t.Also...) {
		text := block
		if len(p.Rows) > 0 {
			if text, err = p.pick(block); err != nil {
				return err
			}
		}
		now, err := os.ReadFile(filepath.Join(l.Root, p.Page))
		if err != nil {
			return err
		}
		want, err := put(p.Page, string(now), t.Marker, text)
		if err == nil {
			err = settle(p.Page, string(now), want)
		}
		if err != nil {
			return err
		}
	}
	if t.Copy.From == "" {
		return nil
	}
	now, err := os.ReadFile(filepath.Join(l.Root, t.Copy.To))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	want, err := os.ReadFile(filepath.Join(l.Root, t.Copy.From))
	if err != nil {
		return err
	}
	return settle(t.Copy.To, string(now), string(want))
}

// block returns what stands between the markers of a table.
func (l *Lab) block(ctx context.Context, f *File, t Table) (string, error) {
	var b strings.Builder
	for _, lines := range t.commands() {
		args := strings.Fields(strings.Join(lines, " "))
		args = append(args[:1:1], append([]string{"--quiet"}, args[1:]...)...)
		if t.Eval != nil && l.Workers > 0 {
			args = append(args, "--workers", fmt.Sprint(l.Workers))
		}
		out, err := l.Command(ctx, nil, args...)
		if err != nil {
			return "", err
		}
		text, err := part(string(out), t.Part)
		if err != nil {
			return "", err
		}
		b.WriteString(shown(t, lines) + text + "\n")
		if t.Eval != nil && f.Note != "" {
			b.WriteString(f.Note + "\n\n")
		}
	}
	return b.String(), nil
}

// shown returns a command as a page shows it above what the command prints.
func shown(t Table, lines []string) string {
	if t.Bare {
		return ""
	}
	return "```\n" + strings.Join(lines, " \\\n  ") + "\n```\n\n"
}
