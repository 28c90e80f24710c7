package work

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
)

// Build returns a text that identifies the running program and what its processor computes. A learner accepts only workers whose
// text is equal, because only these give the same answers. The parameter arithmetic identifies the processor.
func Build(arithmetic string) (string, error) {
	sum, err := Executable()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s/%s-%s-%s", runtime.GOOS, runtime.GOARCH, sum[:32], arithmetic), nil
}

// Executable returns the SHA-256 of the executable of the running program, in hexadecimal.
func Executable() (string, error) {
	path := "/proc/self/exe" // the program that runs, even if its file was replaced
	if runtime.GOOS != "linux" {
		var err error
		if path, err = os.Executable(); err != nil {
			return "", fmt.Errorf("identify the program: %w", err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("identify the program: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("identify the program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
