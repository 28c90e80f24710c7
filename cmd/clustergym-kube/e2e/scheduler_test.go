// Package e2e tests clustergym-kube end to end: the program itself, with a real API server, and KWOK as the kubelets.
package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/control"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/internal/must"
)

// built is the folder of the programs that tests have built, "" before the first.
var built string

var folder = sync.OnceValues(func() (dir string, err error) {
	built, err = os.MkdirTemp("", "clustergym-kube")
	return built, err
})

// program builds clustergym-kube once for all tests, and clustergym the program of that name.
var (
	program    = sync.OnceValues(func() (string, error) { return build("..", "clustergym-kube", ".") })
	clustergym = sync.OnceValues(func() (string, error) { return build("../../..", "clustergym", "./cmd/clustergym") })
)

// build builds a program of a package, within the module in a folder, and returns its path.
func build(module, name, pkg string) (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if out, err := exec.Command("go", "build", "-C", module, "-o", path, pkg).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// scheduler is a running clustergym-kube.
type scheduler struct {
	*kubetest.Process
	log     string // file
	probes  string // URL
	metrics string // URL
}

// run starts clustergym-kube with the flags and returns when the program has read the cluster.
func run(t testing.TB, c *kubetest.Cluster, name string, flags ...string) *scheduler {
	t.Helper()
	if slices.Contains(flags, "--mode=live") {
		allow(t, c)
	}
	return launch(t, c, name, flags...)
}

// launch starts clustergym-kube as run does, and leaves the control ConfigMap as it is.
func launch(t testing.TB, c *kubetest.Cluster, name string, flags ...string) *scheduler {
	t.Helper()
	path := must.Get(program())(t)
	args := append([]string{"--kubeconfig=" + c.Kubeconfig, "--probes=127.0.0.1:0", "--metrics=127.0.0.1:0"}, flags...)
	s := &scheduler{Process: c.Run(name, path, args...), log: filepath.Join(c.Logs, name+".log")}
	c.Await(name+" ready", func(context.Context) error {
		for line := range strings.SplitSeq(s.said(t), "\n") {
			if at, ok := field(line, "probes"); ok && strings.Contains(line, `"listening"`) {
				metrics, _ := field(line, "metrics")
				s.probes, s.metrics = "http://"+at, "http://"+metrics+"/metrics"
			}
		}
		if s.probes == "" {
			return fmt.Errorf("it does not listen yet")
		}
		_, err := get(s.probes + "/readyz")
		return err
	})
	return s
}

// allow creates the control ConfigMap if it does not exist. Without it the program writes nothing.
func allow(t testing.TB, c *kubetest.Cluster) {
	t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: control.ControlName}}
	_, err := c.Client.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// said returns the content of the program's log.
func (s *scheduler) said(t testing.TB) string {
	t.Helper()
	text := must.Get(os.ReadFile(s.log))(t)
	return string(text)
}

// field returns the value of a text field in a log line.
func field(line, name string) (string, bool) {
	_, rest, ok := strings.Cut(line, `"`+name+`":"`)
	if !ok {
		return "", false
	}
	value, _, ok := strings.Cut(rest, `"`)
	return value, ok
}

// metric returns the value in the line of /metrics that begins with name, which includes the labels.
func (s *scheduler) metric(t testing.TB, name string) string {
	t.Helper()
	text := must.Get(get(s.metrics))(t)
	for line := range strings.SplitSeq(text, "\n") {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return value
		}
	}
	return ""
}

func get(url string) (string, error) {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("get %s: %s", url, answer.Status)
	}
	return string(text), err
}
