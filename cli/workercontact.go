package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// contactName is the name of the folder, within that of a run or of results, that says how commands on this machine reach the
// broker. It exists while the broker runs.
const contactName = "broker"

// The files of that folder. Those for which there is nothing to say are not there.
const (
	urlName   = "url"
	queueName = "queue"
	tokenName = "token"
	caName    = "ca"    // the path of the file of the certificates to trust
	credsName = "creds" // the path of the file of credentials
)

// contact returns the path of the folder, "" if there is none because the command has no folder.
func (p *workerPool) contact() string {
	if p.dir == "" {
		return ""
	}
	return filepath.Join(p.dir, contactName)
}

// writeContact writes the folder.
func (p *workerPool) writeContact() error {
	if p.contact() == "" {
		return nil
	}
	p.wrote = true
	err := os.MkdirAll(p.contact(), 0o700)
	for name, text := range map[string]string{
		urlName: p.url(), queueName: p.access.Queue, tokenName: p.access.Token, caName: p.authority(), credsName: p.access.Creds,
	} {
		if text == "" || err != nil {
			continue
		}
		if name == caName || name == credsName {
			text, err = filepath.Abs(text)
		}
		if err == nil {
			err = atomicfile.WriteBytes(filepath.Join(p.contact(), name), 0o600, []byte(text+"\n"))
		}
	}
	return err
}

// removeContact removes the folder if this pool has written it. Otherwise the folder may be that of another process.
func (p *workerPool) removeContact() {
	if !p.wrote {
		return
	}
	for _, name := range []string{urlName, queueName, tokenName, caName, credsName, ""} {
		_ = os.Remove(filepath.Join(p.contact(), name))
	}
}

// find sets how to reach the broker of the run, or of the evaluation, in the folder. What flags have set stays.
func (o *workersOptions) find() error {
	var failed error
	read := func(name, flag string) string {
		text, err := os.ReadFile(filepath.Join(o.dir, contactName, name))
		if flag != "" {
			return flag
		}
		if err != nil && (name == urlName || !errors.Is(err, fs.ErrNotExist)) {
			failed = errors.Join(failed, err)
		}
		return strings.TrimSpace(string(text))
	}
	o.access.URL = read(urlName, "")
	if errors.Is(failed, fs.ErrNotExist) {
		return cmdline.NoRun(fmt.Errorf("%s: nothing with workers is in progress there: it has no %s/%s", o.dir, contactName, urlName))
	}
	o.access.Queue = read(queueName, "")
	o.access.CA, o.access.Creds = read(caName, o.access.CA), read(credsName, o.access.Creds)
	if token := filepath.Join(o.dir, contactName, tokenName); o.token == "" {
		if _, err := os.Stat(token); !errors.Is(err, fs.ErrNotExist) {
			o.token = token
		}
	}
	return failed
}
