package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// SharedVariable is the environment variable with the path of the folder of shared files, such as traces.
const SharedVariable = "CLUSTERGYM_SHARED"

// SharedFolder returns the shared folder in which this program puts files: the value of SharedVariable, or ../shared.
func SharedFolder() string { return cmp.Or(os.Getenv(SharedVariable), filepath.Join("..", "shared")) }

// find returns the path of the file that the setting key names. It looks for name as given, then in the folder of the scenario's
// file, then in the given folder of the shared folder.
func (s *Scenario) find(folder, key, name string) (string, error) {
	tried := []string{name}
	if !filepath.IsAbs(name) {
		if s.dir != "" && s.dir != "." {
			tried = append(tried, filepath.Join(s.dir, name))
		}
		for _, dir := range SharedFolders() {
			tried = append(tried, filepath.Join(dir, folder, name))
		}
	}
	for _, path := range tried {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			return path, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("%s %q: %w", key, name, err)
		}
	}
	text := fmt.Sprintf("%s %q: no such file (tried %s): set %s to the folder that holds %s/%s, or %s to a file",
		key, name, strings.Join(tried, ", "), SharedVariable, folder, name, key)
	return "", &NoFileError{name, text}
}

// NoFileError reports that a file that a scenario needs, such as a trace, is not there.
type NoFileError struct {
	Name string // as the scenario names the file
	text string
}

func (e *NoFileError) Error() string { return e.text }

// SharedFolders returns the folders in which scenarios look for shared files: the value of SharedVariable, or, if that is not
// set, folders next to the working folder and next to the module.
func SharedFolders() []string {
	if dir := os.Getenv(SharedVariable); dir != "" {
		return []string{dir}
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil
	}
	dirs := []string{filepath.Join(filepath.Dir(cwd), "shared")}
	for dir := cwd; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && dir != cwd {
			dirs = append(dirs, filepath.Join(filepath.Dir(dir), "shared"))
		}
	}
	return dirs
}
