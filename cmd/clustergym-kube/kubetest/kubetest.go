// Package kubetest runs a real Kubernetes control plane for tests: etcd, kube-apiserver and, if the test asks for them,
// kube-controller-manager, kube-scheduler and KWOK, which simulates the kubelets of nodes that do not exist. They are child
// processes that end with the test; `make kubeassets` builds their programs. The product does not use this package.
package kubetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/clustergym/clustergym/internal/needs"
)

// Options configure the cluster that Start starts. The zero value starts a plain cluster.
type Options struct {
	// NativeGroups turns on the gang features of Kubernetes 1.36, which are off by default: the API scheduling.k8s.io/v1alpha2,
	// gangs in kube-scheduler, and the groups that the job controller creates for Jobs.
	NativeGroups bool
	// Fsync makes etcd wait for the disk, as in a real cluster. Without it, writes still survive a kill of the API server.
	Fsync bool
	// Tokens lists users besides the administrator, with their groups, for KubeconfigOf and ConfigOf. A user has only the rights
	// that RBAC grants it, none at first.
	Tokens map[string][]string
}

// Cluster is a running control plane. A method that returns no error fails the test that started the cluster, and so has to be
// called on the goroutine of that test (or of a subtest).
type Cluster struct {
	Config     *rest.Config         // the administrator's, without a rate limit; each user of it makes a copy
	Kubeconfig string               // path of the administrator's kubeconfig
	Client     kubernetes.Interface // the administrator's, with protocol buffers
	Dir        string               // used by this cluster alone, removed after the test
	Logs       string               // folder of the programs' logs: below $CLUSTERGYM_ARTEFACTS if set, otherwise Dir

	tb        testing.TB
	options   Options
	assets    string
	access    *access
	etcdURL   string
	apiserver *Process
	serve     []string // the API server's arguments, for a restart
	processes []*Process
	kwok      bool
	nodes     int
}

// programs are the files that Assets checks for: the programs, and the folder of KWOK's stages.
var programs = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok", "stages"}

// Assets returns the folder of the Kubernetes programs: $KUBEBUILDER_ASSETS if set, otherwise the repository's bin/kube. If a
// program is missing, it skips the test, or fails it if CI=true.
func Assets(tb testing.TB) string {
	tb.Helper()
	dir, how := os.Getenv("KUBEBUILDER_ASSETS"), "as $KUBEBUILDER_ASSETS says"
	if dir == "" {
		root, err := repository()
		if err != nil {
			tb.Fatalf("kubetest: %v", err)
		}
		dir, how = filepath.Join(root, "bin", "kube"), "where make kubeassets puts it"
	}
	dir = absolute(tb, dir)
	for _, name := range programs {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			tb.Logf("kubetest: want %s in %s, %s: %v", name, dir, how, err)
			needs.Missing(tb, "Kubernetes", needs.Kubernetes)
		}
	}
	return dir
}

// absolute returns the absolute form of a path, because the programs run in another working folder.
func absolute(tb testing.TB, path string) string {
	tb.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		tb.Fatalf("kubetest: %v", err)
	}
	return path
}

// repository returns the root folder of the repository's main module. It searches upwards from the test's working folder.
func repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "clustergym-kube", "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the repository: no cmd/clustergym-kube/go.mod in %s or a folder above it", start)
		}
	}
}

// Start starts etcd and kube-apiserver and returns when the API is ready. The cluster ends with the test; if the test has failed,
// the last lines of every program's log are shown.
func Start(tb testing.TB, options Options) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb, options: options, assets: Assets(tb), Dir: tb.TempDir()}
	c.Logs = c.Dir
	if dir := os.Getenv("CLUSTERGYM_ARTEFACTS"); dir != "" {
		c.Logs = filepath.Join(absolute(tb, dir), "kubetest", strings.ReplaceAll(tb.Name(), "/", "_"))
	}
	if err := os.MkdirAll(c.Logs, 0o755); err != nil {
		tb.Fatalf("kubetest: %v", err)
	}
	tb.Cleanup(c.stop)

	c.startEtcd()
	c.startAPIServer()
	return c
}

func (c *Cluster) startEtcd() {
	c.tb.Helper()
	c.onFreePort("etcd", func(port int) (*Process, func(context.Context) error) {
		c.etcdURL = fmt.Sprintf("http://127.0.0.1:%d", port)
		// A single member never calls its peers, so its peer address does not matter.
		const peer = "http://127.0.0.1:0"
		p := c.Run("etcd", filepath.Join(c.assets, "etcd"), "--data-dir="+filepath.Join(c.Dir, "etcd"), "--log-level=warn",
			"--listen-client-urls="+c.etcdURL, "--advertise-client-urls="+c.etcdURL,
			"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
			fmt.Sprintf("--unsafe-no-fsync=%t", !c.options.Fsync))
		return p, func(ctx context.Context) error { return healthy(ctx, c.etcdURL+"/health") }
	})
}

// healthy returns an error unless a GET of the URL returns the status 200.
func healthy(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s", url, answer.Status)
	}
	return nil
}

func (c *Cluster) startAPIServer() {
	c.tb.Helper()
	c.onFreePort("kube-apiserver", func(port int) (*Process, func(context.Context) error) {
		if err := c.grantAccess(port); err != nil {
			c.tb.Fatalf("kubetest: %v", err)
		}
		c.serve = []string{
			"--etcd-servers=" + c.etcdURL, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
			fmt.Sprintf("--secure-port=%d", port), "--tls-cert-file=" + c.access.cert, "--tls-private-key-file=" + c.access.key,
			"--token-auth-file=" + c.access.tokens, "--authorization-mode=RBAC", "--allow-privileged=true",
			"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + c.access.key,
			"--service-account-signing-key-file=" + c.access.key, "--service-cluster-ip-range=10.0.0.0/24",
			"--endpoint-reconciler-type=none",
			// No controller here creates service accounts or removes the taint not-ready from nodes.
			"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		}
		if c.options.NativeGroups {
			c.serve = append(c.serve, "--feature-gates="+nativeGates, "--runtime-config=scheduling.k8s.io/v1alpha2=true")
		}
		c.apiserver = c.Run("kube-apiserver", filepath.Join(c.assets, "kube-apiserver"), c.serve...)
		return c.apiserver, c.ready
	})
}

// nativeGates are the feature gates of gangs in Kubernetes 1.36.
const nativeGates = "GenericWorkload=true,GangScheduling=true"

// ready returns an error while the API server cannot be used yet. The server creates the namespace default some time after it
// reports ready, so this function checks both.
func (c *Cluster) ready(ctx context.Context) error {
	api := c.Client.CoreV1().RESTClient()
	if err := api.Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return err
	}
	return api.Get().AbsPath("/api/v1/namespaces/default").Do(ctx).Error()
}

// KillAPIServer kills the API server with SIGKILL, as in a crash. etcd keeps running.
func (c *Cluster) KillAPIServer() { c.apiserver.Kill() }

// RestartAPIServer kills the API server if it runs, starts it again on the same port with the same data, and returns when it is
// ready.
func (c *Cluster) RestartAPIServer() {
	c.tb.Helper()
	c.apiserver.Kill()
	c.apiserver = c.Run("kube-apiserver", filepath.Join(c.assets, "kube-apiserver"), c.serve...)
	if err := c.await(c.apiserver, c.ready); err != nil {
		c.tb.Fatalf("kubetest: restart kube-apiserver: %v", err)
	}
}

// How long Await and the start of a program wait before they fail, and the time between two checks.
const (
	patience = 90 * time.Second
	pause    = 50 * time.Millisecond
)

// Await calls reached until it returns nil, for at most 90 s. After that the test fails with the last error. The parameter what
// describes the awaited state in that message.
func (c *Cluster) Await(what string, reached func(context.Context) error) {
	c.tb.Helper()
	if err := c.await(nil, reached); err != nil {
		c.tb.Fatalf("kubetest: await %s: %v", what, err)
	}
}

// errEnded reports that a program ended before it was ready.
var errEnded = errors.New("the program has ended")

func (c *Cluster) await(p *Process, reached func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.tb.Context(), patience)
	defer cancel()
	var ended <-chan struct{}
	if p != nil {
		ended = p.ended
	}
	for {
		err := reached(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %v: %w", patience, err)
		case <-ended:
			return fmt.Errorf("%w (%v), see %s", errEnded, p.cmd.ProcessState, p.Log)
		case <-time.After(pause):
		}
	}
}

// protobuf returns a copy of a configuration for clients of the API's built-in objects, which the API server reads several times
// faster as protocol buffers.
func protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}
