package loopback_test

import (
	"testing"

	"github.com/clustergym/clustergym/internal/loopback"
)

func TestIs(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.8.9.1": true, "::1": true, "": false, "0.0.0.0": false, "::": false,
		"10.0.0.1": false, "example.com": false, "localhost.example.com": false, "LOCALHOST": false, "127.0.0.1:80": false,
	} {
		if got := loopback.Is(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}
