package serve_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clustergym/clustergym/serve"
)

// TestMetricsHandler checks who may read the metrics: with a token those who bring it, and without one this machine.
func TestMetricsHandler(t *testing.T) {
	for _, test := range []struct {
		token, host, path, brought string
		want                       int
	}{
		{"", "127.0.0.1:80", "/metrics", "", http.StatusOK},
		{"", "[::1]:80", "/metrics", "Bearer x", http.StatusOK},
		{"", "elsewhere.example", "/metrics", "", http.StatusForbidden},
		{"secret", "elsewhere.example", "/metrics", "Bearer secret", http.StatusOK},
		{"secret", "127.0.0.1:80", "/metrics", "", http.StatusUnauthorized},
		{"secret", "127.0.0.1:80", "/metrics", "Bearer secre", http.StatusUnauthorized},
		{"", "127.0.0.1:80", "/", "", http.StatusNotFound},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://"+test.host+test.path, nil)
		r.Header.Set("Authorization", test.brought)
		w := httptest.NewRecorder()
		serve.MetricsHandler(test.token, prometheus.NewRegistry()).ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%+v: status %d", test, w.Code)
		}
	}
}
