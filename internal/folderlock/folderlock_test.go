package folderlock

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

const childVariable = "FOLDERLOCK_TEST_CHILD"

// TestChild is the process that TestKilled kills.
func TestChild(t *testing.T) {
	dir := os.Getenv(childVariable)
	if dir == "" {
		return
	}
	release := must.Get(Acquire(dir))(t)
	defer release() // keeps the file, which the garbage collector would close
	fmt.Println("locked")
	select {}
}

// TestKilled checks that a killed process leaves no lock, only a file that the next process takes over.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childVariable+"="+dir)
	out := must.Get(child.StdoutPipe())(t)
	must.Do(t, child.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("child says %q, %v", line, err)
	}
	_, err := Acquire(dir)
	held, ok := errors.AsType[*heldError](err)
	if !ok || held.Path != dir || !strings.HasPrefix(held.By, fmt.Sprintf("process %d on ", child.Process.Pid)) {
		t.Errorf("beside process %d: %v", child.Process.Pid, err)
	}
	must.Do(t, child.Process.Kill())
	_ = child.Wait() // it was killed
	if _, err := os.Stat(filepath.Join(dir, Name)); err != nil {
		t.Errorf("the kill left no file: %v", err)
	}
	release, err := Acquire(dir)
	if err != nil {
		t.Fatalf("after the kill: %v", err)
	}
	if _, err := Acquire(dir); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d on ", os.Getpid())) {
		t.Errorf("a second time in this process: %v", err)
	}
	release()
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("released: %v, %v", files, err)
	}
}

func TestFolderThatIsNone(t *testing.T) {
	if _, err := Acquire(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// TestHolderThatIsNotKnown checks that the error contains no name if the holder has not written its name yet, or if the file
// contains something else.
func TestHolderThatIsNotKnown(t *testing.T) {
	for _, text := range []string{"", "process 12", "process \x1b[2J\n", strings.Repeat("process ", 100)} {
		dir := t.TempDir()
		release := must.Get(Acquire(dir))(t)
		must.Do(t, os.WriteFile(filepath.Join(dir, Name), []byte(text), 0o666))
		if _, err := Acquire(dir); err == nil || !strings.Contains(err.Error(), "in use by another process") {
			t.Errorf("%.20q: %v", text, err)
		}
		release()
	}
}

// TestOneAtATime checks that only one of many goroutines has the lock at any time.
func TestOneAtATime(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	var mu sync.Mutex
	entered := 0
	for range 4 {
		all.Go(func() {
			for n := 0; n < 200; {
				release, err := Acquire(dir)
				if errors.As(err, new(*heldError)) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if !mu.TryLock() {
					t.Error("two are in")
					return
				}
				entered++
				n++
				mu.Unlock()
				release()
			}
		})
	}
	all.Wait()
	if entered != 800 {
		t.Errorf("%d times in, want 800", entered)
	}
}

// TestFiles checks that a file has one lock, whatever leads to it and whether it exists or not, and that others are free meanwhile.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
	for _, exists := range []bool{false, true} {
		if exists {
			must.Do(t, errors.Join(os.WriteFile(path, nil, 0o600), os.Symlink("f", link)))
		}
		release := must.Get(AcquireFile(path))(t)
		for _, same := range []string{path, dir + "/../" + filepath.Base(dir) + "/f", link} {
			if same == link && !exists {
				continue
			}
			if _, err := AcquireFile(same); !Held(err) || !strings.Contains(err.Error(), same+" is in use by process") ||
				!strings.HasSuffix(err.Error(), "or choose another file") {
				t.Errorf("%s, exists %t: %v", same, exists, err)
			}
		}
		for _, lock := range []func() (func(), error){
			func() (func(), error) { return Acquire(dir) }, func() (func(), error) { return AcquireFile(path + "2") },
		} {
			free := must.Get(lock())(t)
			free()
		}
		release()
		if again, err := AcquireFile(path); err != nil {
			t.Errorf("released: %v", err)
		} else {
			again()
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("left: %v, %v, want the file and its link", files, err)
	}
	if _, err := AcquireFile(filepath.Join(dir, "absent", "f")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in no folder: %v", err)
	}
}
