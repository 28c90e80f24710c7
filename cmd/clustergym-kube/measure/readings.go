package measure

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
)

// The sources of readings.
const (
	fromAnnotation = "annotation"
	fromPrometheus = "prometheus"
)

// Readings keeps the readings of gangs from one round to the next. It is not safe for concurrent use.
type Readings struct {
	settle  time.Duration
	samples func() map[Pod]Sample
	log     *slog.Logger
	gangs   map[string]*gang // by name
	taken   *prometheus.CounterVec
	refused prometheus.Counter
}

// gang is what is known of a gang.
type gang struct {
	source   string                // of its readings, "" before the first: the units of two sources may differ
	holds    cluster.Configuration // in the last round
	first    types.UID             // its first pod in the last round: another one if it has started again
	since    time.Time             // when it was first seen to hold that
	readings []cluster.Reading
	refused  string // the last value that was not valid
}

// New returns readings without any, and registers their metrics. During the time settle after a start or a change of what a gang
// holds its reports are ignored, because they may be about the time before. The function samples returns those of a Poller; it is
// nil if there is none.
func New(settle time.Duration, samples func() map[Pod]Sample, r prometheus.Registerer, log *slog.Logger) (*Readings, error) {
	k := &Readings{settle: settle, samples: samples, log: log}
	k.taken = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "clustergym_kube_readings_total", Help: "Measured throughputs of gangs, by where they came from.",
	}, []string{"source"})
	k.taken.WithLabelValues(fromAnnotation)
	k.taken.WithLabelValues(fromPrometheus)
	k.refused = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "clustergym_kube_readings_refused_total", Help: "Values of the annotation for throughput that were not valid.",
	})
	for _, c := range []prometheus.Collector{k.taken, k.refused} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return k, nil
}

// See adds the readings of the running gangs to the State of a view, those of this round and of the rounds before. The epoch is
// the zero of the State's clock. It forgets the gangs that are not in the view.
func (k *Readings) See(ctx context.Context, v *mirror.View, epoch, now time.Time) {
	var samples map[Pod]Sample
	if k.samples != nil {
		samples = k.samples()
	}
	known := k.gangs
	k.gangs = make(map[string]*gang, len(v.Jobs))
	for i := range v.Jobs {
		j := &v.Jobs[i]
		g := known[j.Spec.Name]
		if !j.Running {
			if g != nil {
				g.holds = cluster.Configuration{}
				k.gangs[j.Spec.Name] = g
			}
			continue
		}
		if g == nil {
			g = &gang{}
		}
		k.gangs[j.Spec.Name] = g
		k.see(ctx, v.State, cluster.JobID(i), j, g, samples, epoch, now)
	}
}

// see adds the readings of a running gang.
func (k *Readings) see(
	ctx context.Context, s *cluster.State, id cluster.JobID, j *mirror.Job, g *gang, samples map[Pod]Sample, epoch, now time.Time,
) {
	if holds, first := s.Configuration(id), j.Bound[0].UID; holds != g.holds || first != g.first || j.Resizing {
		g.holds, g.first, g.since = holds, first, now
	}
	g.stepBack(now, s.Now())
	for _, r := range g.readings {
		s.AddReading(id, r)
	}
	r, source, ok := k.newest(ctx, j, g, samples, now)
	if !ok || j.Resizing || r.at.Before(g.since.Add(k.settle)) || r.at.After(now) {
		return
	}
	at := r.at.Sub(epoch)
	if n := len(g.readings); n > 0 && at <= g.readings[n-1].At {
		return
	}
	s.AddReading(id, cluster.Reading{At: at, Speed: r.speed, Configuration: g.holds})
	g.source, g.readings = source, s.Readings(id)
	k.taken.WithLabelValues(source).Inc()
}

// stepBack forgets the readings of the future, if the clock has been set back. The same instant is now, and on the State's
// clock at.
func (g *gang) stepBack(now time.Time, at time.Duration) {
	g.readings = slices.DeleteFunc(slices.Clone(g.readings), func(r cluster.Reading) bool { return r.At > at })
	if g.since.After(now) {
		g.since = now
	}
}

// newest returns the newest throughput of a gang and its source: that of the gang, or if it has none yet, the annotation before
// Prometheus.
func (k *Readings) newest(
	ctx context.Context, j *mirror.Job, g *gang, samples map[Pod]Sample, now time.Time,
) (r reported, source string, ok bool) {
	if g.source != fromPrometheus {
		if r = k.report(ctx, j, g, now); r != (reported{}) || g.source == fromAnnotation {
			return r, fromAnnotation, r != (reported{})
		}
	}
	r, ok = total(j, samples)
	return r, fromPrometheus, ok
}

// report returns the newest report of a gang's pods, or a zero value if there is none.
func (k *Readings) report(ctx context.Context, j *mirror.Job, g *gang, now time.Time) (best reported) {
	for _, pod := range j.Bound {
		value, ok := pod.Annotations[Annotation]
		if !ok {
			continue
		}
		r, err := parseReport(value, now)
		if err != nil {
			if value != g.refused {
				g.refused = value
				k.refused.Inc()
				k.log.WarnContext(ctx, "reading refused", "pod", pod.Namespace+"/"+pod.Name, "annotation", Annotation, "error", err)
			}
			continue
		}
		if r.at.After(best.at) {
			best = r
		}
	}
	return best
}

// total returns the sum of the samples of a gang's pods. If only some of several pods have samples, one alone speaks for the
// gang, and otherwise the sum would be too small, so that ok is false.
func total(j *mirror.Job, samples map[Pod]Sample) (r reported, ok bool) {
	n := 0
	for _, pod := range j.Bound {
		s, has := samples[Pod{pod.Namespace, pod.Name}]
		if !has {
			continue
		}
		if r.speed += s.Speed; n == 0 || s.At.Before(r.at) {
			r.at = s.At
		}
		n++
	}
	return r, n > 0 && (n == 1 || n == len(j.Bound))
}
