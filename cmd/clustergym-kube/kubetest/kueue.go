package kubetest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigyaml "sigs.k8s.io/yaml"
)

// kueueFiles are the files of Kueue in the folder of the Kubernetes programs: its manager, and the definitions of its resources.
const (
	kueueProgram     = "kueue"
	kueueDefinitions = "kueue.yaml"
)

// kueueNamespace is the namespace of Kueue, which contains nothing but the certificate that Kueue creates for its webhooks.
const kueueNamespace = "kueue-system"

// kueueObjects are the namespace and the secret that Kueue expects.
const kueueObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: ` + kueueNamespace + `}
---
apiVersion: v1
kind: Secret
metadata: {name: kueue-webhook-server-cert, namespace: ` + kueueNamespace + `}
`

var withKueue = flag.Bool("kueue", false, "play with Kueue, which make beside builds")

// WithKueue says whether the test plays with Kueue. Only make beside sets the flag, since to build Kueue takes several minutes.
func WithKueue() bool { return *withKueue }

// Kueue installs Kueue and starts its manager, which admits suspended batch/v1 Jobs that name a queue. The manager is the
// unchanged program; only its admission webhooks are not registered. So nothing defaults and validates the objects, and Jobs have
// to be created suspended.
func (c *Cluster) Kueue() *Process {
	c.tb.Helper()
	definitions, err := kueueResources(filepath.Join(c.assets, kueueDefinitions))
	if err != nil {
		c.tb.Fatalf("kubetest: %v", err)
	}
	c.Apply(definitions)
	if _, err := c.Kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"); err != nil {
		c.tb.Fatalf("kubetest: define the resources of Kueue: %v", err)
	}
	c.Apply(kueueObjects)
	certificates := c.kueueCertificates()
	var p *Process
	c.onFreePort("kueue", func(port int) (*Process, func(context.Context) error) {
		path := filepath.Join(c.Dir, "kueue-config.yaml")
		config := fmt.Sprintf(kueueConfig, kueueNamespace, port, c.FreePort(), certificates)
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			c.tb.Fatalf("kubetest: %v", err)
		}
		p = c.Run("kueue", filepath.Join(c.assets, kueueProgram), "--config="+path, "--kubeconfig="+c.Kubeconfig)
		return p, func(ctx context.Context) error { return healthy(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", port)) }
	})
	return p
}

// kueueResources returns the definitions of Kueue's resources in a file, so that only the stored version of each is served: the
// API server would ask a webhook to convert objects to others.
func kueueResources(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for i, document := range strings.Split(string(text), "\n---\n") {
		crd := map[string]any{}
		if err := sigyaml.Unmarshal([]byte(document), &crd); err != nil {
			return "", fmt.Errorf("read definition %d of %s: %w", i, path, err)
		}
		versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
		if err != nil {
			return "", fmt.Errorf("read definition %d of %s: %w", i, path, err)
		}
		for _, version := range versions {
			if version, ok := version.(map[string]any); ok {
				version["served"] = version["storage"]
			}
		}
		if err := unstructured.SetNestedSlice(crd, versions, "spec", "versions"); err != nil {
			return "", err
		}
		fixed, err := sigyaml.Marshal(crd)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&all, "---\n%s", fixed)
	}
	return all.String(), nil
}

// kueueConfig is Kueue's configuration, with the limits of requests to the API server of its release. It serves no metrics.
const kueueConfig = `
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: %s
health: {healthProbeBindAddress: "127.0.0.1:%d"}
webhook: {host: 127.0.0.1, port: %d, certDir: %q}
metrics: {bindAddress: "0"}
leaderElection: {leaderElect: false}
clientConnection: {qps: 50, burst: 100}
featureGates: {VisibilityOnDemand: false}
integrations: {frameworks: [batch/job]}
`

// kueueCertificates returns a folder with a certificate for the manager's webhook server, which refuses to start without one. The
// API server never calls it.
func (c *Cluster) kueueCertificates() string {
	c.tb.Helper()
	dir := filepath.Join(c.Dir, "kueue-certificates")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		c.tb.Fatalf("kubetest: %v", err)
	}
	for name, from := range map[string]string{"tls.crt": c.access.cert, "tls.key": c.access.key} {
		if err := os.Symlink(from, filepath.Join(dir, name)); err != nil {
			c.tb.Fatalf("kubetest: %v", err)
		}
	}
	return dir
}
