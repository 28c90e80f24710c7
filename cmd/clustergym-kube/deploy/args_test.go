package deploy_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/internal/must"
)

// TestProgramTakesItsArguments checks that the program accepts the arguments of its deployments: with them it runs until it calls
// an API server, which does not exist. The files in the arguments are below a folder of the test.
func TestProgramTakesItsArguments(t *testing.T) {
	program := filepath.Join(t.TempDir(), "clustergym-kube")
	if out, err := exec.Command("go", "build", "-o", program, "..").CombinedOutput(); err != nil {
		t.Fatalf("build clustergym-kube: %v\n%s", err, out)
	}
	help := must.Get(exec.Command(program, "--help").Output())(t)
	all := map[string]map[string]metav1.Object{
		"kustomize shadow": kustomize(t, "kustomize/base"),
		"kustomize live":   kustomize(t, "kustomize/overlays/live"),
	}
	for _, values := range []string{
		"mode: shadow", "mode: live", withMetrics, "bundle: {configMap: c}", "verifyKey: {secret: s}",
		"{mode: live, fallback: las, deadline: 500ms, preemptionsPerHour: 12, starvation: 12h, gangDeadline: 90s, gpuTypeLabel: a, " +
			"rackLabel: b, estimate: 8h, schedulers: [a, b], gpuResource: amd.com/gpu, decisionLog: {enabled: true}, beliefs: {existingClaim: c}, " +
			"prometheus: {url: 'http://127.0.0.1:1', query: x, every: 1m}, extraArgs: [--verbose, --parallel=32]}",
	} {
		all["chart "+values] = mustChart(t, values)
	}
	for name, objects := range all {
		t.Run(name, func(t *testing.T) {
			args := deployment(t, objects).Spec.Template.Spec.Containers[0].Args
			for _, arg := range args {
				if flag, _, _ := strings.Cut(arg, "="); !strings.Contains(string(help), " "+flag+" ") {
					t.Errorf("%s is no flag that --help tells of", flag)
				}
			}
			dir := mounted(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, program, "--kubeconfig="+filepath.Join(dir, "kubeconfig"))
			for _, arg := range args {
				arg = strings.NewReplacer("=/etc/", "="+dir+"/etc/", "=/var/", "="+dir+"/var/").Replace(arg)
				if flag, _, ok := strings.Cut(arg, "=:"); ok { // another process may use the port
					arg = flag + "=:0"
				}
				cmd.Args = append(cmd.Args, arg)
			}
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "127.0.0.1:1: connect: connection refused") ||
				!strings.Contains(string(out), `"listening"`) || cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("%q: got %v, want that it listens and finds no API server:\n%s", cmd.Args, err, out)
			}
		})
	}
}

// mounted creates, below a folder, the files that a pod finds mounted, and a kubeconfig for a server that does not exist.
func mounted(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(path string, text []byte) {
		t.Helper()
		path = filepath.Join(dir, path)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, text, 0o600))
	}
	write("kubeconfig", []byte(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}],
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]}`))
	write("var/log/clustergym/.keep", nil)
	write("var/lib/clustergym/.keep", nil)
	write("etc/clustergym/token/token", []byte("sixteen bytes and more\n"))
	bundle := "../../../checkpoints/released"
	must.Do(t, os.CopyFS(filepath.Join(dir, "etc/clustergym/policy"), os.DirFS(bundle)))
	block := func(kind string, der []byte, err error) []byte {
		t.Helper()
		must.Do(t, err)
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	signs, _, err := ed25519.GenerateKey(rand.Reader)
	must.Do(t, err)
	der, err := x509.MarshalPKIXPublicKey(signs)
	write("etc/clustergym/verify/key.pub", block("PUBLIC KEY", der, err))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Do(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err = x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	write("etc/clustergym/tls/tls.crt", block("CERTIFICATE", der, err))
	der, err = x509.MarshalECPrivateKey(key)
	write("etc/clustergym/tls/tls.key", block("EC PRIVATE KEY", der, err))
	return dir
}
