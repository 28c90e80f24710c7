package control

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ControlName is the ConfigMap by which people steer a running scheduler.
const ControlName = "clustergym-control"

// The keys of its data. Each may be missing, but not the ConfigMap: see readOrders.
const (
	modeKey    = "mode"       // off, shadow or live: no further than this, whatever the flag --mode says; live if missing
	offerKey   = "offer"      // how many inference nodes may be on loan: 0
	reclaimKey = "reclaim-by" // RFC 3339: when those beyond must be back; at once if missing
)

// orders are what people say in the ConfigMap.
type orders struct {
	mode      Mode
	offer     int32
	reclaimBy time.Time
}

// readOrders reads the ConfigMap; nil stands for none, which means shadow: without a switch nobody could stop the writing, and
// whoever deletes it may well mean to. What is not understood turns everything off: it may have been meant to.
func readOrders(m *corev1.ConfigMap, now time.Time) (orders, error) {
	if m == nil {
		return orders{mode: Shadow, reclaimBy: now}, nil
	}
	o := orders{mode: Live, reclaimBy: now}
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		value := strings.TrimSpace(m.Data[key])
		bad := func(want string) (orders, error) {
			off := orders{mode: off, reclaimBy: now}
			return off, fmt.Errorf("configmap %s/%s: %s is %q, want %s", m.Namespace, m.Name, key, value, want)
		}
		switch key {
		case modeKey:
			if o.mode = Mode(value); o.mode != off && o.mode != Shadow && o.mode != Live {
				return bad("off, shadow or live")
			}
		case offerKey:
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil || n < 0 {
				return bad("a whole number of nodes, 0 or more")
			}
			o.offer = int32(n)
		case reclaimKey:
			at, err := time.Parse(time.RFC3339, value)
			if err != nil {
				return bad("a time as 2006-01-02T15:04:05Z")
			}
			o.reclaimBy = at
		default:
			return bad("no such key: mode, offer or reclaim-by")
		}
	}
	return o, nil
}

// within bounds a mode by another.
func within(a, b Mode) Mode {
	if b.level() < a.level() {
		return b
	}
	return a
}
