package intake

import (
	"slices"
	"strings"
	"testing"
)

func TestHostlists(t *testing.T) {
	for list, want := range map[string]string{
		"":                       "",
		"login":                  "login",
		"node[01-03,07],login":   "node01 node02 node03 node07 login",
		"rack[1-2]n[9-10]":       "rack1n9 rack1n10 rack2n9 rack2n10",
		"n[1-3].example,m[8]-ib": "n1.example n2.example n3.example m8-ib",
		"n[098-101]":             "n098 n099 n100 n101",
	} {
		got, err := expandHosts(list, 100)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v; want %s", list, got, err, want)
		}
	}
	for list, want := range map[string]string{
		"n[1-3":           "hosts such as node[01-03,07]",
		"n[]":             "ranges such as",
		"n[3-1]":          "ranges such as",
		"n[1-x]":          "ranges such as",
		"n[1-999999999]":  "at most 100 numbers",
		"n[1-20][1-20]":   "at most 100 hosts",
		"a[1-60],b[1-60]": "at most 100 hosts",
		"n[1-9999999999]": "ranges such as",
		"n[0-8:0]":        "ranges such as",
	} {
		if _, err := expandHosts(list, 100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", list, err, want)
		}
	}
	if got, err := expandRanges("1-9:4,20", 10); err != nil || !slices.Equal(got, []string{"1", "5", "9", "20"}) {
		t.Errorf("with a step: %q, %v", got, err)
	}
}

func TestGres(t *testing.T) {
	for _, c := range []struct {
		text  string
		count int64
		kind  string
		index []int32
	}{
		{"gpu:a100:8(S:0-1)", 8, "a100", nil},
		{"gpu:8", 8, "", nil},
		{"gpu", 1, "", nil},
		{"gres/gpu:a100:2", 2, "a100", nil},
		{"gres:gpu:2", 2, "", nil},
		{"gpu:a100:3(IDX:0-1,3),shard:0", 3, "a100", []int32{0, 1, 3}},
		{"gpu:a100:1(IDX:2),gpu:v100:1(IDX:5)", 2, "", []int32{2, 5}},
		{"gpu:a100:2(IDX:2)", 2, "a100", nil},
		{"gpu:0(IDX:N/A)", 0, "", nil},
		{"(null)", 0, "", nil},
		{"shard:16", 0, "", nil},
	} {
		all, err := parseGres(c.text)
		count, kind, index := gpusOf(all)
		if err != nil || count != c.count || kind != c.kind || !slices.Equal(index, c.index) {
			t.Errorf("%s: %d of %q at %v, %v; want %d of %q at %v", c.text, count, kind, index, err, c.count, c.kind, c.index)
		}
	}
	for _, text := range []string{"gpu:a:b:2", ":2", "gpu:2(IDX:3-1)", "gpu:2(IDX:0-99999999)"} {
		if all, err := parseGres(text); err == nil {
			t.Errorf("%s: %v, want an error", text, all)
		}
	}
}

func TestTres(t *testing.T) {
	got, err := parseTres("cpu=16,mem=1.50G,node=1,billing=16,gres/gpu=2,gres/gpu:a100=2,gres/shard=4")
	if err != nil || got.cpuMilli != 16000 || got.memBytes != 1536<<20 || got.gpus != 2 || got.kind != "a100" ||
		!slices.Equal(got.others, []string{"gres/shard"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := parseTres("mem=64,gres/gpu:a100=2,gres/gpu:v100=1"); err != nil || got.memBytes != 64<<20 || got.gpus != 3 || got.kind != "" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"cpu=x", "mem=1X", "gres/gpu=-1", "gres/gpu:a100=", "cpu=" + strings.Repeat("9", 99)} {
		if got, err := parseTres(text); err == nil {
			t.Errorf("%s: %+v, want an error", text, got)
		}
	}
}

func TestQuantities(t *testing.T) {
	for _, c := range []struct {
		text        string
		scale, want int64
		exact       bool
	}{
		{"500m", 1000, 500, true}, {"0.1", 1000, 100, true}, {"2", 1000, 2000, true}, {"64Gi", 1, 64 << 30, true}, {"1.5Ki", 1, 1536, true},
		{"129M", 1, 129e6, true}, {"1e3", 1, 1000, true}, {"12E2", 1, 1200, true}, {"1E", 1, 1 << 50, true}, {"100n", 1000, 1, false},
		{"0", 1, 0, true}, {"1e99", 1, 1 << 50, true},
	} {
		if got, exact, ok := parseQuantity(c.text, c.scale, 1<<50); !ok || got != c.want || exact != c.exact {
			t.Errorf("%s: %d, exact %t, ok %t; want %d, exact %t", c.text, got, exact, ok, c.want, c.exact)
		}
	}
	for _, text := range []string{"", "-1", "x", "1.2.3", "1Zi", "1e999999999", "0x10", "1/2", "Gi", strings.Repeat("1", 41)} {
		if got, _, ok := parseQuantity(text, 1, 1<<50); ok {
			t.Errorf("%s: %d, want none", text, got)
		}
	}
}

func FuzzSlurmText(f *testing.F) {
	for _, text := range []string{
		"node[01-03,07],login", "rack[1-2]n[0-9]", "gpu:a100:2(IDX:0,3)", "gpu:8(S:0-1),shard:16", "1-9:2", "n[", "n[0-999999999]", "gpu:(IDX:-)",
		"cpu=16,mem=64G,node=1,gres/gpu=2,gres/gpu:a100=2",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const most = 1000
		if all, err := expandHosts(text, most); len(all) > most || err != nil && len(err.Error()) > 500 {
			t.Fatalf("%d hosts, %v", len(all), err)
		}
		if all, err := expandRanges(text, most); len(all) > most || err == nil && len(all) == 0 {
			t.Fatalf("%d numbers, %v", len(all), err)
		}
		if all, err := parseGres(text); err == nil {
			if n, _, index := gpusOf(all); n < 0 || index != nil && int64(len(index)) != n {
				t.Fatalf("%d GPUs at %v", n, index)
			}
		}
		if got, err := parseTres(text); err == nil && (got.gpus < 0 || got.cpuMilli < 0 || got.memBytes < 0) {
			t.Fatalf("%+v", got)
		}
	})
}

func FuzzQuantity(f *testing.F) {
	for _, text := range []string{"500m", "64Gi", "1e3", "0.5", "1E", "1e-99"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, _, ok := parseQuantity(text, 1000, mostCPUMilli); n < 0 || n > mostCPUMilli || !ok && n != 0 {
			t.Fatalf("%d, %t", n, ok)
		}
	})
}
