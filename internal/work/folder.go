package work

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/clustergym/clustergym/internal/folderlock"
)

// folderName begins the names of the folders that brokers keep their files in.
const folderName = "clustergym-broker-"

// makeFolder makes a folder for a broker's files in the folder for temporary files, and removes there the folders of brokers that
// were killed. A broker locks its folder, and the lock ends with the broker's process; so a folder that has a lock file and is
// not locked belongs to nobody. The function remove removes the new folder.
func makeFolder() (dir string, remove func(), err error) {
	hidden, err := os.MkdirTemp("", "."+folderName) // gets its name once it is locked
	if err != nil {
		return "", nil, err
	}
	unlock, err := folderlock.Acquire(hidden)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(hidden))
	}
	dir = filepath.Join(filepath.Dir(hidden), filepath.Base(hidden)[1:])
	if err := os.Rename(hidden, dir); err != nil {
		unlock()
		return "", nil, errors.Join(err, os.RemoveAll(hidden))
	}
	if _, err := folderlock.Acquire(dir); folderlock.Held(err) { // otherwise there are no locks, and every folder may be in use
		removeAbandoned(filepath.Dir(dir))
	}
	return dir, func() { _ = os.RemoveAll(dir); unlock() }, nil
}

// removeAbandoned removes the folders of brokers that were killed.
func removeAbandoned(in string) {
	found, _ := filepath.Glob(filepath.Join(in, folderName+"*"))
	for _, dir := range found {
		if info, err := os.Lstat(filepath.Join(dir, folderlock.Name)); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if unlock, err := folderlock.Acquire(dir); err == nil {
			_ = os.RemoveAll(dir) // what cannot be removed stays for the next broker
			unlock()
		}
	}
}
