package control

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

func (s *soak) fault(format string, args ...any) {
	if len(s.broken) == 0 {
		s.note("HERE: "+format, args...)
		s.t.Logf("what happened last:\n%s", strings.Join(s.trail, "\n"))
	}
	s.broken = append(s.broken, fmt.Sprintf(format, args...))
}

// checkBinding checks, when a process asks to bind a pod, that no process has bound it to another node before, and that the mode
// that the program was last shown allows to write.
func (s *soak) checkBinding(p *soakProcess, b *corev1.Binding) {
	if node, ok := s.mine[b.UID]; ok && node != b.Target.Name {
		s.fault("double binding: pod %s is bound to %s, and a binding to %s was sent", b.Name, node, b.Target.Name)
	}
	s.checkMode(p, "binds "+b.Name)
}

func (s *soak) checkMode(p *soakProcess, what string) {
	if p.mode != Live {
		s.fault("the program %s though the mode is %s", what, p.mode)
	}
}

// checkRoom checks that the node of a pod that was just bound has the GPUs for it. A node that others have changed since the
// program was last shown the cluster is excused.
func (s *soak) checkRoom(pod *corev1.Pod) {
	if held, has := s.held(pod.Spec.NodeName), s.capacity(pod.Spec.NodeName); held > has && !s.excused[pod.Spec.NodeName] {
		s.fault("pods share GPUs: node %s has %d, and with pod %s its pods hold %d", pod.Spec.NodeName, has, pod.Name, held)
	}
}

// checkRemoval checks, when the server is about to carry it out, that a gang may lose its pods: by deletion only if it never ran
// and its deadline is over, by eviction only if it has lacked pods for the loss deadline, or if the policy may stop it for another
// gang and the limit of stops in an hour allows it.
func (s *soak) checkRemoval(p *soakProcess, g *soakGang, pod *corev1.Pod, evict bool) {
	s.checkMode(p, "removes "+pod.Name)
	if g == nil {
		s.fault("pod %s of nobody's gang was removed", pod.Name)
		return
	}
	first := g.removed != s.rounds
	if g.removed = s.rounds; !first {
		return
	}
	const slack = 2 * time.Minute // what the program saw late
	// What the program was shown decides what it knows, except for its own bindings since then.
	switch lacks := g.shown < g.pods && s.bound(g) < g.pods; {
	case !evict && g.ranFor == p:
		s.fault("gang %s ran, and its pods were deleted", g.key())
	case !evict:
		s.count("# gangs deleted that never ran")
	case lacks && g.ranFor == p && s.since(g.half) < p.loop.LossDeadline-slack:
		s.fault("gang %s was evicted %v after it lost pods, want %v", g.key(), s.since(g.half), p.loop.LossDeadline)
	case lacks:
		s.count("# gangs evicted that lost pods")
	default:
		s.checkStop(p, g)
	}
}

// checkStop checks a stop by the policy.
func (s *soak) checkStop(p *soakProcess, g *soakGang) {
	now := p.loop.Now()
	s.stops = append(s.stops, now)
	n := 0
	for _, at := range s.stops {
		if at.Unix() > now.Add(-hour).Unix() {
			n++
		}
	}
	if n > p.loop.Stops {
		s.fault("gang %s is stopped as the %dth in an hour, want at most %d", g.key(), n, p.loop.Stops)
	}
	for _, other := range s.gangs {
		if other != g && !s.runs(other) && (other.priority > g.priority || other.space == g.space && other.priority >= g.priority) {
			s.count("# gangs stopped by the policy for others")
			return
		}
	}
	s.count("# gangs stopped by the policy to move them")
	if s.stale == 0 && !s.fits(g) {
		s.fault("gang %s of priority %d is stopped, none waits for which it may, and it fits nowhere else", g.key(), g.priority)
	}
}

// fits reports whether a gang could go on if its pods were placed anew.
func (s *soak) fits(g *soakGang) bool {
	pods := 0
	for name, n := range s.nodes {
		if n.Spec.Unschedulable || !mirror.Ready(n) {
			continue
		}
		free := s.capacity(name) - s.held(name)
		for i := range g.pods {
			if pod := s.pods[g.pod(i)]; pod != nil && pod.Spec.NodeName == name {
				free += g.gpus
			}
		}
		pods += int(max(free, 0) / g.gpus)
	}
	return pods >= g.pods
}

// checkHalves adds up how long each gang has been partly bound while nothing hindered the program, and checks that this is not
// longer than its deadline allows: after twice that time the program gives up even a gang that it could complete.
func (s *soak) checkHalves(clear bool, passed time.Duration) {
	for _, g := range s.gangs {
		bound := s.bound(g)
		switch {
		case bound == 0:
			g.ranFor, g.half, g.clear = nil, time.Time{}, 0
		case bound >= g.pods:
			g.half, g.clear = time.Time{}, 0
			if clear && g.shown >= g.pods && !g.garbage {
				g.ranFor = s.process // its last round saw the gang run
			}
		case g.half.IsZero():
			g.half = time.Now()
		case g.garbage: // the program refuses the gang, and begins to count anew
			g.clear = 0
		case clear && !g.budget:
			g.clear += passed
		}
		most := 2*s.process.loop.LossDeadline + 2*time.Minute
		if g.ranFor == s.process && g.clear > most || g.never == s.process && g.clear > 2*s.process.loop.GangDeadline+2*time.Minute {
			s.fault("gang %s has %d of %d pods bound, for %v without a fault; it is %s", g.key(), bound, g.pods, g.clear,
				s.seen(g))
			g.clear = 0
		}
		if bound == 0 && !ran(s.process.loop.incomplete.runs, g.key()) { // its last round was skipped if it still takes the gang as running
			g.never = s.process
		} else if bound >= g.pods || g.never != s.process {
			g.never = nil
		}
	}
}

// panics is a log handler that counts the panics that a loop recovers from.
type panics struct{ s *soak }

func (p panics) Enabled(context.Context, slog.Level) bool { return true }
func (p panics) WithAttrs([]slog.Attr) slog.Handler       { return p }
func (p panics) WithGroup(string) slog.Handler            { return p }

// Handle notes warnings, and counts panics.
func (p panics) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		r.Attrs(func(a slog.Attr) bool { p.s.note("log: %s: %s", r.Message, a); return true })
	}
	if r.Message == "panic" {
		r.Attrs(func(a slog.Attr) bool { p.s.fault("panic: %s", a.Value); return true })
	}
	return nil
}
func (s *soak) seen(g *soakGang) string {
	o, err := s.process.loop.watch.objects()
	if err != nil {
		return err.Error()
	}
	o.Bound = s.process.loop.bound.node
	v, err := mirror.Build(o, &s.process.loop.Config.Mirror, s.process.loop.Now())
	if err != nil {
		return err.Error()
	}
	for i := range v.Partial {
		if p := &v.Partial[i]; p.Spec.Name == g.key() {
			return fmt.Sprintf("partly bound, lacks %d, for %v", p.Lacks, s.process.loop.incomplete.of[g.key()].lacked)
		}
	}
	for i := range v.Jobs {
		if j := &v.Jobs[i]; j.Spec.Name == g.key() {
			return fmt.Sprintf("running %t, %d bound, %d free", j.Running, len(j.Bound), len(j.Free))
		}
	}
	for _, x := range v.Refused {
		if s.gangOf(x.Pod) == g {
			return x.Message
		}
	}
	for i := range v.Waiting {
		if s.gangOf(v.Waiting[i].Pods[0]) == g {
			return v.Waiting[i].Why
		}
	}
	return "unknown"
}
