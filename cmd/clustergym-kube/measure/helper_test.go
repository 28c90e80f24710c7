package measure

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/needs"
)

// TestHelperInDocs runs the Python helper of docs/kubernetes.md against an API server of the test, and checks that what it writes
// is a report.
func TestHelperInDocs(t *testing.T) {
	page := must.Get(os.ReadFile("../../../docs/kubernetes.md"))(t)
	_, code, ok := strings.Cut(string(page), "```python\n")
	code, _, ended := strings.Cut(code, "```")
	if !ok || !ended {
		t.Fatal("the page has no code in Python")
	}
	python := needs.Program(t, needs.Python, "python3")
	var written []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPatch || r.URL.Path != "/api/v1/namespaces/team/pods/train-0" ||
			r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("Content-Type") != "application/merge-patch+json" {
			t.Errorf("%s %s with %v", r.Method, r.URL.Path, r.Header)
		}
		var patch struct {
			Metadata struct{ Annotations map[string]string }
		}
		if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
			t.Error(err)
		}
		written = append(written, patch.Metadata.Annotations[Annotation])
	}))
	defer server.Close()
	at := must.Get(url.Parse(server.URL))(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"token": "secret", "namespace": "team",
		"ca.crt": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	const account = "/var/run/secrets/kubernetes.io/serviceaccount"
	if !strings.Contains(code, account) {
		t.Fatalf("the helper does not read %s", account)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", strings.ReplaceAll(code, account, dir)+"\nreport(1843.2)\n")
	cmd.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST="+at.Hostname(), "KUBERNETES_SERVICE_PORT="+at.Port(), "HOSTNAME=train-0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(written) != 1 {
		t.Fatalf("it wrote %q, want one report", written)
	}
	r, err := parseReport(written[0], time.Now().Add(time.Second))
	if err != nil || r.speed != 1843.2 || time.Since(r.at) > time.Minute {
		t.Errorf("it wrote %q, which reads %v, %v", written[0], r, err)
	}
}
