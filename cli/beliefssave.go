package cli

import (
	"bytes"
	"context"
	"io"
	"os"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/beliefs"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/serve/decide"
)

// savedBeliefs is the result of beliefs --save.
type savedBeliefs struct {
	File     string `json:"file"`
	Ended    int64  `json:"ended"` // jobs
	Readings int64  `json:"readings"`
}

// holdsBeliefs reports whether a file is one of saved beliefs, by its beginning.
func holdsBeliefs(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // reading it as a log says why
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	return bytes.Contains(head[:n], []byte(`"`+belief.MemoryFormat+`"`))
}

// saveBeliefs writes what the logs taught, in addition to what a scenario teaches or, if there is none, to what the first file
// contains if it is one of saved beliefs.
func saveBeliefs(ctx context.Context, a *app, opts *askOptions) (err error) {
	release, err := decide.LockBeliefs(opts.save)
	if err != nil {
		return err
	}
	defer release()
	m, logs := belief.NewMemory(), opts.logs
	switch {
	case opts.from.Name != "":
		m, err = taught(ctx, &opts.from)
	case holdsBeliefs(logs[0]):
		m, err = decide.ReadBeliefs(logs[0])
		logs = logs[1:]
	}
	if err != nil {
		return err
	}
	for _, path := range logs {
		log, err := readLog(a, path)
		if err != nil {
			return err
		}
		if err := beliefs.Teach(m, log); err != nil {
			return err
		}
	}
	if err := decide.WriteBeliefs(opts.save, m); err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(savedBeliefs{opts.save, m.Ended(), m.Readings()})
	}
	a.Printf("%s: what was learned from %s and %s\n",
		opts.save, phrase.Count(m.Ended(), "ended job"), phrase.Count(m.Readings(), "reading"))
	return nil
}

func taught(ctx context.Context, from *flags.Scenario) (*belief.Memory, error) {
	s, err := from.Load()
	if err != nil {
		return nil, err
	}
	src, err := s.Open()
	if err != nil {
		return nil, err
	}
	return eval.Taught(ctx, src)
}

// runSavedBeliefs shows a file of saved beliefs.
func runSavedBeliefs(a *app, opts *askOptions) error {
	if opts.job != "" || !opts.end {
		return cmdline.Usage("--job, --at: %s contains no jobs and no instants, only what was learned from them", opts.logs[0])
	}
	m, err := decide.ReadBeliefs(opts.logs[0])
	if err != nil {
		return err
	}
	b, err := beliefs.Saved(m, belief.Kind(opts.time))
	if err != nil {
		return err
	}
	if err := opts.knowsUser(b); err != nil {
		return err
	}
	if opts.plot != "" {
		if err := drawBeliefs(a, opts, b, nil); err != nil {
			return err
		}
	}
	return printBeliefs(a, opts.logs[0]+": what was learned", "", b, opts)
}
