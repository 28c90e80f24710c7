package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// ReadToken returns the token in a file, without surrounding white space. It returns an error if the file is empty.
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

// Bears returns a function that reports whether a request carries the token, as Authorization: Bearer TOKEN. If the token is
// empty, it reports true for every request.
func Bears(token string) func(*http.Request) bool {
	want := sha256.Sum256([]byte(token)) // hashes have equal length, so that the time of the comparison reveals nothing
	return func(r *http.Request) bool {
		brought, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(brought))
		return token == "" || ok && subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}
}
