package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// ReadToken returns the token in a file, without the space around it. A file without one is an error.
func ReadToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("read token: %s is empty", path)
	}
	return token, nil
}

// Bears returns what tells whether a request brings the token, as Authorization: Bearer TOKEN. Where there is none all do.
func Bears(token string) func(*http.Request) bool {
	want := sha256.Sum256([]byte(token)) // of equal length, so that the time tells nothing
	return func(r *http.Request) bool {
		brought, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(brought))
		return token == "" || ok && subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}
}
