package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ledgerName is the ConfigMap that stores when gangs were stopped, so that a restart does not allow the hour's stops again.
const ledgerName = "clustergym-ledger"

const (
	stopsKey  = "stops"   // a JSON list of times in Unix seconds, ascending
	mostStops = 1 << 16   // a longer list is an error
	hour      = time.Hour // the window in which stops are counted
)

// ledger counts the stops of the last hour. The loop writes stops to it before it stops any gang: a crash in between counts a
// stop that did not happen, but a stop is never missing.
type ledger struct {
	client    kubernetes.Interface
	namespace string
	limit     int
	known     bool
	stops     []int64 // as the server has them
	exists    bool
	version   string      // the object's resourceVersion, if it exists
	mine      []time.Time // the stops of this process, with its monotonic clock
}

// left returns how many more gangs may be stopped now: 0 if there is an error. The stops of this process count for an hour of its
// monotonic clock even if the ConfigMap is lost or somebody sets the clock forward.
func (l *ledger) left(ctx context.Context, now time.Time) (int, error) {
	if l.limit == 0 {
		return 0, nil
	}
	if !l.known {
		if err := l.read(ctx); err != nil {
			return 0, err
		}
	}
	l.mine = slices.DeleteFunc(l.mine, func(at time.Time) bool { return now.Sub(at) >= hour })
	return max(l.limit-max(len(l.recent(now)), len(l.mine)), 0), nil
}

// recent returns the stops of the last hour. It includes stops in the future, which another machine's clock may have written.
func (l *ledger) recent(now time.Time) []int64 {
	from := now.Add(-hour).Unix()
	return slices.DeleteFunc(slices.Clone(l.stops), func(at int64) bool { return at <= from })
}

func (l *ledger) read(ctx context.Context) error {
	m, err := l.client.CoreV1().ConfigMaps(l.namespace).Get(ctx, ledgerName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		l.known, l.stops, l.exists, l.version = true, nil, false, ""
		return nil
	case err != nil:
		return fmt.Errorf("read ledger: %w", err)
	}
	var stops []int64
	if text := m.Data[stopsKey]; text != "" {
		if err := json.Unmarshal([]byte(text), &stops); err != nil || len(stops) > mostStops {
			return fmt.Errorf("configmap %s/%s: %s is no list of at most %d whole numbers: delete it to begin anew",
				l.namespace, ledgerName, stopsKey, mostStops)
		}
	}
	l.known, l.stops, l.exists, l.version = true, stops, true, m.ResourceVersion
	return nil
}

// book writes that n gangs are about to be stopped. After an error the caller may stop none of them.
func (l *ledger) book(ctx context.Context, n int, now time.Time) error {
	if !l.known { // without a limit, left has not read the ledger
		if err := l.read(ctx); err != nil {
			return err
		}
	}
	stops := append(l.recent(now), slices.Repeat([]int64{now.Unix()}, n)...)
	slices.Sort(stops)
	text, err := json.Marshal(stops)
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	m := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: ledgerName, ResourceVersion: l.version},
		Data:       map[string]string{stopsKey: string(text)},
	}
	maps := l.client.CoreV1().ConfigMaps(l.namespace)
	if !l.exists {
		m, err = maps.Create(ctx, m, metav1.CreateOptions{})
	} else {
		m, err = maps.Update(ctx, m, metav1.UpdateOptions{})
	}
	if err != nil {
		l.known = false // another process may have written it: read it again
		return fmt.Errorf("write ledger: %w", err)
	}
	l.stops, l.exists, l.version = stops, true, m.ResourceVersion
	if l.limit > 0 {
		l.mine = append(l.mine, slices.Repeat([]time.Time{now}, n)...)
	}
	return nil
}
