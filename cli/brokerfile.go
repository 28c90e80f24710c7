package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/serve"
)

// contactName is the name of the file, in the folder of a run or of results, that says how commands on this machine reach the
// broker. It exists while the broker runs.
const contactName = "broker.json"

// writeContact writes the file, if the command has a folder.
func (p *workerPool) writeContact() (err error) {
	if p.dir == "" {
		return nil
	}
	at := p.access
	at.URL, at.CA = p.url(), p.authority()
	for _, path := range []*string{&at.CA, &at.Creds} {
		if *path != "" && err == nil {
			*path, err = filepath.Abs(*path)
		}
	}
	text, failed := json.Marshal(at)
	if err = cmp.Or(err, failed, os.MkdirAll(p.dir, 0o777)); err != nil {
		return err
	}
	p.wrote = true
	return atomicfile.WriteBytes(filepath.Join(p.dir, contactName), 0o600, text)
}

// removeContact removes the file if this pool has written it. Otherwise it may be that of another process.
func (p *workerPool) removeContact() {
	if p.wrote {
		_ = os.Remove(filepath.Join(p.dir, contactName))
	}
}

// find returns how to reach the broker of the run, or of the evaluation, in the folder. What flags say has precedence.
func (o *workersOptions) find() (at work.Access, err error) {
	path := filepath.Join(o.Dir, contactName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return at, cmdline.NoRun(fmt.Errorf("%s: nothing with workers is in progress there: it has no %s", o.Dir, contactName))
	}
	if err != nil {
		return at, err
	}
	if err := json.Unmarshal(text, &at); err != nil {
		return at, fmt.Errorf("%s: %w", path, err)
	}
	at.CA, at.Creds = cmp.Or(o.CA, at.CA), cmp.Or(o.Creds, at.Creds)
	if o.Token != "" {
		at.Token, err = serve.ReadToken(o.Token)
	}
	return at, err
}
