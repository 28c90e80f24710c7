package e2e

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/internal/must"
)

var update = flag.Bool("update", false, "write what the commands of the walk-through print into its page")

// The page, and its section whose blocks the test runs.
const (
	page    = "../../../docs/kubernetes.md"
	section = "## A walk-through\n"
)

// account is the user of the deployed program, with only the rights that its roles grant.
const account = "system:serviceaccount:clustergym-system:clustergym"

// TestWalkthrough checks that the page's walk-through works as shown. It runs the page's blocks in order with bash and the real
// kubectl, blocks of sh as a whole and blocks of console command by command. The output of a command must equal the page's. The
// test replaces the kubelet of the program's pod: it runs the program with the arguments of the Deployment, and answers kubectl
// logs and port-forward.
func TestWalkthrough(t *testing.T) {
	text := must.Get(os.ReadFile(page))(t)
	before, rest, ok := strings.Cut(string(text), section)
	if !ok {
		t.Fatalf("%s has no section %q", page, strings.TrimSpace(section))
	}
	blocks, after := rest, ""
	if at := strings.Index(rest, "\n## "); at >= 0 {
		blocks, after = rest[:at], rest[at:]
	}
	c := kubetest.Start(t, kubetest.Options{Tokens: map[string][]string{account: {"system:serviceaccounts"}}})
	c.KWOK(2)
	c.ControllerManager("deployment", "replicaset", "job", "garbage-collector")
	c.Scheduler() // schedules the program's own pod
	w := newWalk(t, c)
	shown, ran := w.all(blocks)
	if ran < 10 {
		t.Errorf("only %d commands found in %s", ran, page)
	}
	if w.s != nil {
		checkMetrics(t, w.s)
		if strings.Contains(w.s.said(t), "forbidden") {
			t.Errorf("the program wants more than its roles grant, see %s", w.s.log)
		}
	}
	if *update && !t.Failed() {
		must.Do(t, os.WriteFile(page, []byte(before+section+shown+after), 0o644))
	}
}

// walk is the state of a walk-through.
type walk struct {
	t     *testing.T
	c     *kubetest.Cluster
	dir   string   // the reader's working folder, with a copy of deploy
	bin   string   // first folder of PATH
	args  []string // arguments of the running program
	runs  int
	s     *scheduler
	limit time.Duration // how long a command may take to print what the page shows
}

func newWalk(t *testing.T, c *kubetest.Cluster) *walk {
	t.Helper()
	w := &walk{t: t, c: c, dir: t.TempDir(), bin: t.TempDir(), limit: 90 * time.Second}
	if *update {
		w.limit = 20 * time.Second // with -update the output becomes the page's
	}
	deploy := filepath.Join(w.dir, "cmd/clustergym-kube/deploy/kustomize")
	must.Do(t, os.CopyFS(deploy, os.DirFS("../deploy/kustomize")))
	for name, script := range map[string]string{
		// The script answers the requests that would go to a pod through its kubelet.
		"kubectl": `case " $* " in
*" logs "*) exec cat $BIN/log ;;
*" port-forward "*) exit 0 ;;
esac
exec $ASSETS/kubectl "$@"
`,
		// The program listens on a free port, because 8080 may be in use. As curl does, the request names the host of the URL: without
		// a token the program serves metrics only to those that name this machine.
		"curl": `url=${!#} host=${url#*://}
exec 3<> /dev/tcp/$(cat $BIN/metrics) &&
printf 'GET /%s HTTP/1.0\r\nHost: %s\r\n\r\n' "${url##*/}" "${host%%/*}" >&3 && sed $'1,/^\r$/d' <&3
`,
	} {
		text := "#!/usr/bin/env bash\n" + strings.NewReplacer("$ASSETS", kubetest.Assets(t), "$BIN", w.bin).Replace(script)
		must.Do(t, os.WriteFile(filepath.Join(w.bin, name), []byte(text), 0o755))
	}
	return w
}

// all runs the blocks of a text. It returns the text with the actual output, and the number of commands.
func (w *walk) all(text string) (shown string, ran int) {
	const fence = "```"
	var out, block []string
	kind := "" // kind of the open block
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case kind == "":
			if strings.HasPrefix(line, fence) {
				kind, block = line, nil
			}
			out = append(out, line)
		case line != fence:
			block = append(block, line)
		default:
			switch kind {
			case fence + "sh":
				w.run(strings.Join(block, "\n"))
				ran++
			case fence + "console":
				n := 0
				block, n = w.console(block)
				ran += n
			}
			out, kind = append(append(out, block...), line), ""
		}
	}
	return strings.Join(out, "\n"), ran
}

// console runs the commands of a block, which begin with "$ ", and compares their output with the lines below them.
func (w *walk) console(block []string) (shown []string, ran int) {
	for len(block) > 0 {
		command := 1
		for strings.HasSuffix(block[command-1], `\`) && command < len(block) { // the command continues on the next line
			command++
		}
		end := command
		for end < len(block) && !strings.HasPrefix(block[end], "$ ") {
			end++
		}
		text, ok := strings.CutPrefix(strings.Join(block[:command], "\n"), "$ ")
		if !ok {
			w.t.Fatalf("block begins with %q, want a command after \"$ \"", block[0])
		}
		shown = append(shown, block[:command]...)
		if printed := w.await(text, strings.Join(block[command:end], "\n")); printed != "" {
			shown = append(shown, printed)
		}
		block, ran = block[end:], ran+1
	}
	return shown, ran
}

// await runs a command and returns its output. It repeats a command that changes nothing until the output is as wanted.
func (w *walk) await(command, want string) (got string) {
	w.t.Helper()
	w.t.Logf("$ %s", command)
	deadline := time.Now().Add(w.limit)
	for {
		got = mask(w.run(command))
		if squeeze(got) == squeeze(want) && (got != "" || !looks(command)) { // an empty output may come too early
			return want
		}
		if !looks(command) || time.Now().After(deadline) || w.t.Context().Err() != nil {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	if !*update {
		w.t.Errorf("$ %s\nprints\n%s\nbut the page shows\n%s", command, got, want)
	}
	return got
}

// looks reports whether a command changes nothing.
func looks(command string) bool {
	words := strings.Fields(command)
	return words[0] == "curl" || slices.ContainsFunc([]string{"get", "describe", "wait", "logs"}, func(verb string) bool {
		return slices.Contains(words, verb)
	})
}

// run runs commands in the reader's environment, and then starts or restarts the program if needed.
func (w *walk) run(commands string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", commands)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "PATH="+w.bin+":"+os.Getenv("PATH"), "KUBECONFIG="+w.c.Kubeconfig, "HOME="+w.dir)
	out, err := cmd.CombinedOutput()
	if err != nil && !looks(commands) {
		w.t.Fatalf("%s\n%v: %s", commands, err, out)
	}
	w.kubelet()
	return string(bytes.TrimRight(out, "\n"))
}

// kubelet runs the program as the Deployment defines it, and restarts it when the Deployment changes.
func (w *walk) kubelet() {
	w.t.Helper()
	const namespace = "clustergym-system"
	d, err := w.c.Client.AppsV1().Deployments(namespace).Get(w.t.Context(), "clustergym", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return
	}
	if err != nil {
		w.t.Fatal(err)
	}
	args := d.Spec.Template.Spec.Containers[0].Args
	if slices.Equal(args, w.args) {
		return
	}
	if w.s != nil {
		if err := w.s.Signal(syscall.SIGTERM); err != nil {
			w.t.Fatal(err)
		}
		<-w.s.Ended()
	}
	w.args = slices.Clone(args)
	w.runs++
	own := slices.DeleteFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--probes=") })
	own = append(own, "--kubeconfig="+w.c.KubeconfigOf(account), "--namespace="+namespace)
	w.s = run(w.t, w.c, fmt.Sprintf("clustergym-%d", w.runs), own...)
	address := strings.TrimSuffix(strings.TrimPrefix(w.s.metrics, "http://"), "/metrics")
	_ = os.Remove(filepath.Join(w.bin, "log"))
	if err := os.Symlink(w.s.log, filepath.Join(w.bin, "log")); err != nil {
		w.t.Fatal(err)
	}
	at := strings.Replace(address, ":", "/", 1) + "\n" // the form that bash needs
	if err := os.WriteFile(filepath.Join(w.bin, "metrics"), []byte(at), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// masked matches output that differs from run to run, which the page shows as three dots: times, durations and ages, and the
// random ends of pod names.
var masked = []*regexp.Regexp{
	regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d)`),
	regexp.MustCompile(`\b\d+(?:\.\d+)?(?:ms|s|min|m|h|d)(?:\d+[smh])*\b`),
	regexp.MustCompile(`(?:^|[a-z0-9])-([bcdfghjklmnpqrstvwxz2456789]{5})\b`),
}

// mask replaces output that differs from run to run by three dots. Columns keep their positions.
func mask(text string) string {
	const dots = "..."
	for _, re := range masked {
		var out strings.Builder
		end := 0
		for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
			from, to := m[len(m)-2], m[len(m)-1] // the group, or the whole match if there is none
			out.WriteString(text[end:from] + dots)
			if end = to; strings.HasPrefix(text[end:], "  ") {
				out.WriteString(strings.Repeat(" ", max(to-from-len(dots), 0)))
			}
		}
		text = out.String() + text[end:]
	}
	return text
}

// squeeze replaces the space between columns by one blank.
func squeeze(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// TestMask checks that mask replaces what it should, and nothing else.
func TestMask(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"train-0-x7k2b   Running   3m12s   gpu-000", "train-0-...     Running   ...     gpu-000"},
		{`{"time":"2026-11-21T21:00:00.123456789Z","gang":"default/train"}`, `{"time":"...","gang":"default/train"}`},
		{"needs 12 GPUs; 8 fit; room in about 59.8min, when", "needs 12 GPUs; 8 fit; room in about ..., when"},
		{"pod/train-0-x7k2b condition met", "pod/train-0-... condition met"},
		{"job.batch/train created", "job.batch/train created"},
		{"deployment.apps/clustergym condition met", "deployment.apps/clustergym condition met"},
		{"clustergym_kube_mode{mode=\"off\"} 1", "clustergym_kube_mode{mode=\"off\"} 1"},
		{"rolebinding.rbac.authorization.k8s.io/clustergym-reader created", "rolebinding.rbac.authorization.k8s.io/clustergym-reader created"},
	} {
		if got := mask(test.text); got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
		if got := mask(test.want); got != test.want {
			t.Errorf("what is masked is masked again: %q", got)
		}
	}
}
