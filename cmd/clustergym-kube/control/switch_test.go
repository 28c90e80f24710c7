package control

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReadOrders(t *testing.T) {
	at := time.Date(2026, 6, 1, 18, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		data map[string]string
		want orders
		says string // text of the error, "" for none
	}{
		{"nothing", nil, orders{mode: Live, reclaimBy: noon}, ""},
		{"the switch", map[string]string{"mode": "off"}, orders{mode: off, reclaimBy: noon}, ""},
		{"with a line's end", map[string]string{"mode": "shadow\n"}, orders{mode: Shadow, reclaimBy: noon}, ""},
		{"loans", map[string]string{"offer": "3", "reclaim-by": "2026-06-01T18:30:00Z"}, orders{mode: Live, offer: 3, reclaimBy: at}, ""},
		{"an unknown mode", map[string]string{"mode": "stop"}, orders{mode: off, reclaimBy: noon},
			`configmap ns/clustergym-control: mode is "stop", want off, shadow or live`},
		{"an unknown key", map[string]string{"paused": "true"}, orders{mode: off, reclaimBy: noon}, "no such key"},
		{"half a node", map[string]string{"offer": "0.5"}, orders{mode: off, reclaimBy: noon}, `offer is "0.5", want a whole number`},
		{"less than none", map[string]string{"offer": "-1", "mode": "live"}, orders{mode: off, reclaimBy: noon}, `offer is "-1"`},
		{"amounts", map[string]string{"amounts": "a: cpu=0.5..4\n\n *: memory=1..2  cpu=1..1\nb:"}, orders{mode: Live, reclaimBy: noon,
			amounts: map[string]amountBounds{
				"a": {stretch{0.5, 4}, stretch{1, 1}}, "*": {stretch{1, 1}, stretch{1, 2}}, "b": {stretch{1, 1}, stretch{1, 1}},
			}}, ""},
		{"no namespace", map[string]string{"amounts": "cpu=1..2"}, orders{mode: off, reclaimBy: noon}, `amounts: line 1 is "cpu=1..2", want lines such as`},
		{"a namespace twice", map[string]string{"amounts": "a:\na:"}, orders{mode: off, reclaimBy: noon}, `line 2 names "a" again`},
		{"too many namespaces", map[string]string{"amounts": manySpaces(mostSpaces + 1)}, orders{mode: off, reclaimBy: noon},
			"line 10001 names one namespace more, want at most 10000"},
		{"more at least", map[string]string{"amounts": "a: cpu=2..4"}, orders{mode: off, reclaimBy: noon}, `line 1 is "cpu=2..4"`},
		{"less at most", map[string]string{"amounts": "a: cpu=0.5..0.9"}, orders{mode: off, reclaimBy: noon}, `line 1 is "cpu=0.5..0.9"`},
		{"no number", map[string]string{"amounts": "a: cpu=NaN..2"}, orders{mode: off, reclaimBy: noon}, `line 1 is "cpu=NaN..2"`},
		{"too much", map[string]string{"amounts": "a: cpu=1..101"}, orders{mode: off, reclaimBy: noon}, `line 1 is "cpu=1..101"`},
		{"of GPUs", map[string]string{"amounts": "a: gpu=1..2"}, orders{mode: off, reclaimBy: noon}, `line 1 is "gpu=1..2"`},
		{"some day", map[string]string{"reclaim-by": "tomorrow"}, orders{mode: off, reclaimBy: noon}, `reclaim-by is "tomorrow", want a time as`},
	} {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: ControlName}, Data: c.data}
		got, err := readOrders(m, noon)
		if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, error %v; want %+v, %q", c.name, got, err, c.want, c.says)
		}
	}
	if got, err := readOrders(nil, noon); err != nil || !reflect.DeepEqual(got, orders{mode: Shadow, reclaimBy: noon}) {
		t.Errorf("without a ConfigMap: %+v, %v; want shadow", got, err)
	}
}

// manySpaces returns bounds for a number of namespaces.
func manySpaces(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "team-%d: cpu=1..2\n", i)
	}
	return text.String()
}

// TestModesOnlyHoldBack checks that the ConfigMap can only lower the mode of the flag.
func TestModesOnlyHoldBack(t *testing.T) {
	for _, flag := range []Mode{Shadow, Live} {
		for _, ordered := range []Mode{off, Shadow, Live} {
			if got := within(flag, ordered); got.level() > flag.level() || got.level() > ordered.level() || got != flag && got != ordered {
				t.Errorf("flag %s, ordered %s: %s", flag, ordered, got)
			}
		}
	}
}

func FuzzReadOrders(f *testing.F) {
	f.Add("mode", "off", "offer", "1")
	f.Add("amounts", "a: cpu=0.5..4 memory=1..2\n*: cpu=1..2", "mode", "live")
	f.Add("reclaim-by", "2026-06-01T18:30:00Z", "mode", "live")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string) {
		o, err := readOrders(&corev1.ConfigMap{Data: map[string]string{k1: v1, k2: v2}}, noon)
		for space, b := range o.amounts {
			if least, most := b.cpu.of(1000); space == "" || least < 100 || least > 1000 || most < 1000 || most > 100_000 {
				t.Errorf("amounts %+v from %q and %q", o.amounts, v1, v2)
			}
		}
		if err != nil && o.mode != off || o.offer < 0 || o.mode != off && o.mode != Shadow && o.mode != Live {
			t.Errorf("%q: %q, %q: %q gives %+v, error %v", k1, v1, k2, v2, o, err)
		}
	})
}
