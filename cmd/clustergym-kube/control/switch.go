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

// ControlName is the ConfigMap with which people control a running scheduler.
const ControlName = "clustergym-control"

// The keys of the ConfigMap's data. Each may be missing. If the ConfigMap itself is missing, see readOrders.
const (
	modeKey    = "mode"       // the highest mode allowed, whatever the flag --mode says: off, shadow or live; live if missing
	offerKey   = "offer"      // how many inference nodes may be on loan; 0 if missing
	amountsKey = "amounts"    // how far CPU and memory of pods may differ from their requests, by namespace: see readAmounts
	reclaimKey = "reclaim-by" // when nodes on loan beyond that number must be back (RFC 3339); at once if missing
)

// orders are the settings in the control ConfigMap.
type orders struct {
	mode      Mode
	offer     int32
	reclaimBy time.Time
	amounts   map[string]amountBounds // by namespace
}

// readOrders reads the control ConfigMap. If m is nil the ConfigMap does not exist and the mode is shadow: without the ConfigMap
// nobody could stop the writes, and whoever deleted it may have wanted to stop them. If a value is invalid, readOrders returns an
// error and the mode off, because off may have been meant.
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
		case amountsKey:
			var err error
			if o.amounts, err = readAmounts(value); err != nil {
				return orders{mode: off, reclaimBy: now}, fmt.Errorf("configmap %s/%s: %s: %w", m.Namespace, m.Name, key, err)
			}
		case reclaimKey:
			at, err := time.Parse(time.RFC3339, value)
			if err != nil {
				return bad("a time as 2006-01-02T15:04:05Z")
			}
			o.reclaimBy = at
		default:
			return bad("no such key: mode, offer, reclaim-by or amounts")
		}
	}
	return o, nil
}

// within returns the lower of two modes.
func within(a, b Mode) Mode {
	if b.level() < a.level() {
		return b
	}
	return a
}
