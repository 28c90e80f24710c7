package slurmtext

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHostlists(t *testing.T) {
	for list, want := range map[string]string{
		"":                       "",
		"(null)":                 "",
		"None assigned":          "",
		"login":                  "login",
		"node[01-03,07],login":   "node01 node02 node03 node07 login",
		"rack[1-2]n[9-10]":       "rack1n9 rack1n10 rack2n9 rack2n10",
		"n[1-3].example,m[8]-ib": "n1.example n2.example n3.example m8-ib",
		"n[098-101]":             "n098 n099 n100 n101",
	} {
		got, err := ExpandHosts(list, 100)
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
		if _, err := ExpandHosts(list, 100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", list, err, want)
		}
	}
	if got, err := ExpandRanges("1-9:4,20", 10); err != nil || !slices.Equal(got, []string{"1", "5", "9", "20"}) {
		t.Errorf("with a step: %q, %v", got, err)
	}
}

func TestGPUs(t *testing.T) {
	for _, c := range []struct {
		text  string
		count int64
		kind  string
		index []int32
	}{
		{"gpu:a100:8(S:0-1)", 8, "a100", nil},
		{"gpu:8", 8, "", nil},
		{"gpu:8(S:0)", 8, "", nil},
		{"gpu", 1, "", nil},
		{"GPU:h200:8", 8, "h200", nil},
		{"gpu:(null):6(S:0-1)", 6, "", nil},
		{"gpu:(null):2(IDX:4,6)", 2, "", []int32{4, 6}},
		{"gpu:(null):0(IDX:N/A)", 0, "", nil},
		{"gres/gpu:a100:2", 2, "a100", nil},
		{"gres:gpu:2", 2, "", nil},
		{"gpu(IDX:1-2)", 2, "", []int32{1, 2}},
		{"gpu:a100:3(IDX:0-1,3),shard:0", 3, "a100", []int32{0, 1, 3}},
		{"gpu:a100:1(IDX:2),gpu:v100:1(IDX:5)", 2, "", []int32{2, 5}},
		{"gpu:a100:2,gpu:a100:1", 3, "a100", nil},
		{"gpu:a100:0(IDX:N/A),gpu:v100:1(IDX:0)", 1, "v100", []int32{0}},
		{"gpu:a100:2(IDX:2)", 2, "a100", nil},
		{"gpu:a100_2g.10gb:3", 3, "a100_2g.10gb", nil},
		{"gpu:a100:no_consume:4", 4, "a100", nil},
		{"gpu:no_consume:4", 4, "", nil},
		{"gpu:3K", 3072, "", nil},
		{"gpu:t4:1k(S:0)", 1024, "t4", nil},
		{"gpu:0(IDX:N/A)", 0, "", nil},
		{"(null)", 0, "", nil}, {"N/A", 0, "", nil}, {"n/a", 0, "", nil}, {"", 0, "", nil}, {" ", 0, "", nil},
		{"shard:16", 0, "", nil},
		{"mps:100(0/100,0/100),craynetwork:x:y:4", 0, "", nil},
		{"gpu=6", 6, "", nil},
		{"gres/gpu:a100=6", 6, "a100", nil},
		{"gres/gpu=6,gres/gpu:a100=6", 6, "a100", nil},
		{"gres/gpu:a100=6,gres/gpu=6", 6, "a100", nil},
		{"gres/gpu:a100=2,gres/gpu:v100=1", 3, "", nil},
		{"gres/gpu=5,gres/gpu:a100=2", 5, "", nil},
		{"billing=9,cpu=16,energy=3,fs/disk=1,gres/gpu=2,gres/gpumem=0,license/x=3,mem=1.50G,node=1", 2, "", nil},
	} {
		a, err := Parse(c.text, 100)
		count, kind, index := a.GPUs()
		if err != nil || count != c.count || kind != c.kind || !slices.Equal(index, c.index) {
			t.Errorf("%s: %d of %q at %v, %v; want %d of %q at %v", c.text, count, kind, index, err, c.count, c.kind, c.index)
		}
	}
	for _, text := range []string{
		"gpu:a:b:2", ":2", "gpu:2(IDX:3-1)", "gpu:2(IDX:0-999)", "cpu=x", "mem=1X", "mem=", "mem=1.2.3", "gres/gpu=-1", "gres/gpu:a100=",
		"gres/gpu=two", "gpu=", "gres/gpu=999999999P", "cpu=" + strings.Repeat("9", 99), "mem=1e3", "mem=1/2",
	} {
		if a, err := Parse(text, 100); err == nil {
			t.Errorf("%s: %+v, want an error", text, a)
		}
	}
}

func TestOtherAmounts(t *testing.T) {
	a, err := Parse("cpu=16,mem=1.50G,node=1,billing=16,gres/gpu=2,gres/gpu:a100=2,gres/shard=4,gres/mps:a100=0,gres/shard:t4=1", 9)
	if err != nil || a.CPUMilli != 16000 || a.MemBytes != 1536<<20 || !slices.Equal(a.Others(), []string{"shard"}) || len(a.Shares()) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	for text, want := range map[string]int64{"mem=64": 64 << 20, "mem=512K": 512 << 10, "mem=3T": 3 << 40, "mem=99999999P": 1 << 50, "mem=0": 0, "mem=.5K": 512,
		"mem=1.0019K": 1026, "mem=00000000000000000000000007": 7 << 20, "mem=1023P": 1 << 50, "mem=1000000000000000000": 1 << 50} {
		if a, err := Parse(text, 9); err != nil || a.MemBytes != want {
			t.Errorf("%s: %d, %v; want %d", text, a.MemBytes, err, want)
		}
	}
	if a, err := Parse("shard:t4:3(0/4,3/4,0/4)", 9); err != nil || !slices.Equal(a.Shares()[0].Indices, []int32{1}) {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestEverySpellingIsTheSameAmount writes drawn numbers of GPUs in every spelling.
func TestEverySpellingIsTheSameAmount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 64).Draw(t, "GPUs")
		kind := rapid.SampledFrom([]string{"", "a100", "h100_1g.10gb", "nvidia-l40s"}).Draw(t, "type")
		typed := "gpu"
		if kind != "" {
			typed += ":" + kind
		}
		for _, text := range []string{
			"%[1]s:%[2]d", "%[1]s:%[2]d(S:0-1)", "gres/%[1]s:%[2]d", "gres:%[1]s:%[2]d", "gres/%[1]s=%[2]d", "gres/gpu=%[2]d,gres/%[1]s=%[2]d",
			"cpu=4,gres/%[1]s=%[2]d,node=1", "shard:8,%[1]s:%[2]d", "%[1]s:no_consume:%[2]d", "%[1]s:%[2]d(IDX:N/A)", " %[1]s:%[2]d ",
		} {
			text = fmt.Sprintf(text, typed, n)
			a, err := Parse(text, 64)
			if got, of, _ := a.GPUs(); err != nil || got != n || of != kind && n > 0 {
				t.Fatalf("%s: %d of %q, %v", text, got, of, err)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"node[01-03,07],login", "rack[1-2]n[0-9]", "gpu:a100:2(IDX:0,3)", "gpu:8(S:0-1),shard:16(2/4,0/4)", "1-9:2", "n[", "n[0-999999999]",
		"gpu:(IDX:-)", "gpu:(null):4(S:0-1)", "cpu=16,mem=64G,node=1,gres/gpu=2,gres/gpu:a100=2K",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const most = 1000
		if all, err := ExpandHosts(text, most); len(all) > most || err != nil && len(err.Error()) > 500 {
			t.Fatalf("%d hosts, %v", len(all), err)
		}
		if all, err := ExpandRanges(text, most); len(all) > most || err == nil && len(all) == 0 {
			t.Fatalf("%d numbers, %v", len(all), err)
		}
		a, err := Parse(text, most)
		if err != nil && len(err.Error()) > 500 {
			t.Fatal(err)
		}
		if n, _, index := a.GPUs(); n < 0 || index != nil && int64(len(index)) != n || a.CPUMilli < 0 || a.MemBytes < 0 {
			t.Fatalf("%d GPUs at %v of %+v", n, index, a)
		}
	})
}
