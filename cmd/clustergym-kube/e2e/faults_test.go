package e2e

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/control"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/internal/must"
)

// TestFaultKill kills processes while gangs come and go, and checks that each gang still starts completely: the scheduler between two
// bindings of a gang, after the server has carried out a request and before the scheduler gets the answer, and at any time; and the
// API server, if possible in the middle of binding a gang.
func TestFaultKill(t *testing.T) {
	t.Parallel()
	c := withNodes(t, 8)
	k := check(t, c)
	p := newTap(t, c, "scheduler", c.Config)
	l := &load{k: k, open: 12, every: 50 * time.Millisecond, run: "1s", draw: rand.New(rand.NewPCG(2, 0))}
	l.start()
	draw, partial, kills := rand.New(rand.NewPCG(2, 1)), 0, times(t, 12, 60)
	begin := func(i int) *scheduler {
		parallel := fmt.Sprint("--parallel=", 1+draw.IntN(4))
		return run(t, c, fmt.Sprintf("scheduler-%02d", i), live("--kubeconfig="+p.kubeconfig, parallel)...)
	}
	s := begin(0)
	for i := 1; i <= kills; i++ {
		switch i % 4 {
		case 0:
			killAPIServer(t, k, s, draw)
			continue
		case 1:
			time.Sleep(time.Duration(draw.IntN(1500)) * time.Millisecond)
			s.Kill()
		default:
			killAt(t, s, p, 1+draw.IntN(8), i%4 == 2)
		}
		if k.partial() {
			partial++
		}
		s = begin(i)
	}
	gangs, pods := l.drain()
	k.finish()
	k.explained(t, "scheduler")
	t.Logf("%d gangs with %d pods, %d kills, %d of the scheduler with a gang bound in part; bound in part for %v at most",
		gangs, pods, kills, partial, k.worst)
}

// killAPIServer kills the API server, if possible while a gang is partly bound, and starts it again.
func killAPIServer(t *testing.T, k *checker, s *scheduler, draw *rand.Rand) {
	t.Helper()
	k.c.Await("gangs that start", s.moreThan(t, s.boundGangs(t)+2))
	until := time.Now().Add(time.Duration(draw.IntN(1000)) * time.Millisecond)
	for time.Now().Before(until) && !k.partial() {
		time.Sleep(time.Millisecond)
	}
	k.freeze()
	k.c.KillAPIServer()
	time.Sleep(time.Duration(draw.IntN(500)) * time.Millisecond)
	k.c.RestartAPIServer()
	k.thaw()
	k.c.Await("gangs that start again", s.moreThan(t, s.boundGangs(t)))
	if code := s.ExitCode(); code != -1 {
		t.Errorf("the scheduler has ended with %d", code)
	}
}

// killAt kills a scheduler at its n-th binding from now, before or after the server carries it out.
func killAt(t testing.TB, s *scheduler, p *tap, n int, before bool) {
	t.Helper()
	var mu sync.Mutex
	killed := make(chan struct{})
	at := func(kind, _ string) {
		mu.Lock()
		defer mu.Unlock()
		if kind != "bind" {
			return
		}
		if n--; n == 0 {
			s.Kill()
			close(killed)
		}
	}
	if before {
		p.hook(at, nil)
	} else {
		p.hook(nil, at)
	}
	select {
	case <-killed:
	case <-time.After(time.Minute):
		t.Fatal("no gang was bound within a minute")
	}
	p.hook(nil, nil)
}

// TestFaultLeader checks leader election with two schedulers: if the leader dies, the other takes over when the lease ends; if
// the leader is told to end, the other takes over at once; and never do both write.
func TestFaultLeader(t *testing.T) {
	t.Parallel()
	c := withNodes(t, 8)
	k := check(t, c)
	l := &load{k: k, open: 10, every: 200 * time.Millisecond, run: "1s", draw: rand.New(rand.NewPCG(3, 0))}
	l.start()
	type member struct {
		*scheduler
		*tap
		name string
	}
	begin := func(name string) member {
		p := newTap(t, c, name, c.Config)
		return member{run(t, c, name, live("--leader-elect", "--kubeconfig="+p.kubeconfig)...), p, name}
	}
	leads := func(m member) time.Duration {
		t.Helper()
		began, before := time.Now(), m.count("bind")
		c.Await(m.name+" to lead", func(context.Context) error {
			if !strings.Contains(m.said(t), `"msg":"leading"`) || m.count("bind") == before {
				return fmt.Errorf("it does not bind")
			}
			return nil
		})
		return time.Since(began)
	}
	a := begin("leader-a")
	leads(a)
	b := begin("leader-b")
	time.Sleep(500 * time.Millisecond)
	if n := b.count(""); n != 0 {
		t.Errorf("the one that stands by wrote %d times", n)
	}
	a.Kill()
	k.freeze() // no process leads until the lease ends
	killed := leads(b)
	k.thaw()
	d := begin("leader-d")
	must.Do(t, b.Signal(syscall.SIGTERM))
	told := leads(d)
	<-b.Ended()
	if code := b.ExitCode(); code != 0 || told > 10*time.Second {
		t.Errorf("told to end, it ended with %d, and the other one leads after %v, want it as soon as the lease is released", code, told)
	}
	l.drain()
	k.finish()
	k.explained(t, "leader")
	for _, turn := range [][2]member{{a, b}, {b, d}} {
		was, is := turn[0].acts(), turn[1].acts()
		if len(was) == 0 || len(is) == 0 || !was[len(was)-1].Before(is[0]) {
			t.Errorf("%s and %s write at once", turn[0].name, turn[1].name)
		}
	}
	t.Logf("the other one binds %v after SIGKILL, and %v after SIGTERM", killed, told)
}

// say sets the data of the control ConfigMap; nil deletes the ConfigMap.
func say(t testing.TB, c *kubetest.Cluster, data map[string]string) {
	t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: control.ControlName}, Data: data}
	maps := c.Client.CoreV1().ConfigMaps("default")
	var err error
	if data == nil {
		err = maps.Delete(t.Context(), m.Name, metav1.DeleteOptions{})
	} else if _, err = maps.Update(t.Context(), m, metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
		_, err = maps.Create(t.Context(), m, metav1.CreateOptions{})
	}
	must.Do(t, err)
}

// TestFaultSwitch checks that any mode but live stops all writes, even in the middle of many bindings, and that no gang stays
// partly bound.
func TestFaultSwitch(t *testing.T) {
	t.Parallel()
	c := withNodes(t, 80)
	k := check(t, c)
	p := newTap(t, c, "scheduler", c.Config)
	s := run(t, c, "scheduler", live("--kubeconfig="+p.kubeconfig, "--parallel=1")...)
	l := &load{k: k, draw: rand.New(rand.NewPCG(4, 0))}
	made := 0
	add := func(pods int) {
		l.add(fmt.Sprintf("s%02d", made), pods, 1)
		made++
	}
	for _, data := range []map[string]string{
		{"mode": "off"}, {"mode": "\x00lvie"}, {"mode": "live", "paused": "true"}, {"mode": "shadow"}, nil,
	} {
		before := p.count("bind")
		for range 12 { // 96 pods, which take a while with one request at a time
			add(8)
		}
		l.tend(t.Context())
		for p.count("bind") < before+20 { // the scheduler has started to bind
			time.Sleep(time.Millisecond)
		}
		say(t, c, data)
		c.Await("another mode than live", func(context.Context) error {
			if s.metric(t, `clustergym_kube_mode{mode="live"}`) != "0" {
				return fmt.Errorf("the mode is live")
			}
			return nil
		})
		late := p.count("bind")
		add(2)
		l.tend(t.Context())
		time.Sleep(1500 * time.Millisecond)
		if n := p.count("bind") - late; n != 0 || k.partial() {
			t.Errorf("%v: %d pods were bound after that; a gang is left bound in part: %t", data, n, k.partial())
		}
		say(t, c, map[string]string{"mode": "live"})
	}
	c.AwaitPods("default", "", 5*(12*8+2), "are bound", bound)
	k.finish()
	if got := k.deleted(); len(got) > 0 {
		t.Errorf("pods were deleted: %v", got)
	}
}

// TestFaultBundle checks that a bundle that is damaged, or signed with another key, is refused and counted, while the previous one
// keeps deciding.
func TestFaultBundle(t *testing.T) {
	t.Parallel()
	c := withNodes(t, 4)
	k := check(t, c)
	public, private, err := ed25519.GenerateKey(nil)
	must.Do(t, err)
	_, other, err := ed25519.GenerateKey(nil)
	must.Do(t, err)
	der := must.Get(x509.MarshalPKIXPublicKey(public))(t)
	dir := t.TempDir()
	write := func(name string, text []byte) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	good := map[string][]byte{}
	for _, name := range []string{"manifest.json", "weights.safetensors", "policy.onnx", "README.md"} {
		if good[name], err = os.ReadFile(filepath.Join("..", "..", "..", "checkpoints", "released", name)); err != nil {
			t.Fatal(err)
		}
	}
	signature := func(key ed25519.PrivateKey) []byte {
		sig := ed25519.Sign(key, append([]byte("clustergym policy manifest 1\n"), good["manifest.json"]...))
		return []byte(base64.StdEncoding.EncodeToString(sig) + "\n")
	}
	good["manifest.json.sig"] = signature(private)
	restore := func() {
		for name, text := range good {
			write(name, text)
		}
	}
	restore()
	write("verify.pem", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	s := run(t, c, "scheduler", "--mode=live", "--policy="+dir, "--verify-key="+filepath.Join(dir, "verify.pem"), "--estimate=1m",
		"--gang-deadline="+gangDeadline.String())
	reloads := func(result string) int { return s.number(t, `clustergym_reloads_total{result="`+result+`"}`) }
	for i, damage := range []struct {
		file string
		text []byte
	}{
		{"weights.safetensors", good["weights.safetensors"][:1000]}, {"manifest.json", nil}, {"manifest.json.sig", signature(other)},
	} {
		refused, taken := reloads("refused"), reloads("ok")
		write(damage.file, damage.text)
		c.Await("damage of "+damage.file+" to be refused", func(context.Context) error { return more(reloads("refused"), refused) })
		g := kubetest.Gang{API: kubetest.Labelled, Name: fmt.Sprintf("g%d", i), Pods: 2, GPUs: 1}
		k.expect("default/"+g.Name, g.Pods)
		c.GangPods(g)
		c.AwaitPods("default", g.Selector(), g.Pods, "run", kubetest.Running)
		restore()
		c.Await("the good bundle to be taken up", func(context.Context) error { return more(reloads("ok"), taken) })
	}
	k.finish()
}

// more returns an error unless a number has grown.
func more(now, before int) error {
	if now <= before {
		return fmt.Errorf("%d, want more than %d", now, before)
	}
	return nil
}
