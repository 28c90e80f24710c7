package trace

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/formattest"
	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// TestRealMachines checks that the real lists have the machines, GPUs, types and racks that their documentation gives.
func TestRealMachines(t *testing.T) {
	dir := filepath.Join(sharedtest.Dir(t), "traces")
	for _, c := range []struct {
		path     string
		machines int
		gpus     int
		racks    int
		types    map[string]int // GPUs
		memory   map[string]int32
		first    cluster.ServerSpec
	}{
		{"alibaba-openb-2023/openb_node_list_gpu_node.csv.gz", 1213, 6212, 0,
			map[string]int{"G2": 4392, "T4": 842, "G3": 312, "P100": 265, "V100M32": 204, "V100M16": 195, "A10": 2},
			map[string]int32{"T4": 16384, "P100": 16384, "V100M32": 32768, "V100M16": 16384, "A10": 24576},
			cluster.ServerSpec{Name: "openb-node-0000", GPUs: 2, CPUMilli: 64000, MemMiB: 262144, GPUType: "P100", GPUMemMiB: 16384}},
		{"alibaba-openb-2023/openb_node_list_all_node.csv.gz", 1523, 6212, 0,
			map[string]int{"G2": 4392, "T4": 842, "G3": 312, "P100": 265, "V100M32": 204, "V100M16": 195, "A10": 2},
			map[string]int32{"T4": 16384, "P100": 16384, "V100M32": 32768, "V100M16": 16384, "A10": 24576},
			cluster.ServerSpec{Name: "openb-node-0000", CPUMilli: 32000, MemMiB: 262144}},
		{"cluster-specs/alibaba-pai-2020_pai_machine_spec.tar.gz", 1897, 6742, 0,
			map[string]int{"P100": 2 * 798, "T4": 2 * 497, "MISC": 8 * 280, "V100M32": 8 * 135, "V100": 8 * 104},
			map[string]int32{"P100": 16384, "T4": 16384, "V100M32": 32768},
			cluster.ServerSpec{Name: "7399a758eb02bae1a3621236", CPUMilli: 96000, MemMiB: 512 * 1024}},
		{"cluster-specs/alibaba-lingjun-2023_topo.csv.gz", 847, 0, 119, map[string]int{}, nil,
			cluster.ServerSpec{Name: "0c9d9de1b19e7f39b08f49ddfa26744ae26d3adf8bd59af1b16e203b6fa5fe4b", CPUMilli: cluster.Unlimited,
				MemMiB: cluster.Unlimited, Rack: 43}},
	} {
		servers, err := ReadMachines(filepath.Join(dir, c.path))
		if err != nil {
			t.Error(err)
			continue
		}
		types, racks := map[string]int{}, map[int32]bool{}
		for _, s := range servers {
			if s.GPUs > 0 {
				types[s.GPUType] += int(s.GPUs)
			}
			if s.Rack > 0 {
				racks[s.Rack] = true
			}
			if s.GPUMemMiB != c.memory[s.GPUType] || s.GPUs == 0 && s.GPUType != "" {
				t.Errorf("%s: %+v", c.path, s)
			}
		}
		spec := cluster.Spec{Servers: servers}
		if len(servers) != c.machines || spec.GPUs() != c.gpus || len(racks) != c.racks || fmt.Sprint(types) != fmt.Sprint(c.types) {
			t.Errorf("%s: %d machines, %d GPUs, %d racks, %v", c.path, len(servers), spec.GPUs(), len(racks), types)
		}
		for r := range racks {
			if int(r) > len(racks) {
				t.Errorf("%s: rack %d of %d", c.path, r, len(racks))
			}
		}
		if servers[0] != c.first {
			t.Errorf("%s: first machine %+v, want %+v", c.path, servers[0], c.first)
		}
	}
}

func packed(t testing.TB, names []string, text string) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, name := range names {
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}
		if strings.HasSuffix(name, "/") {
			h.Typeflag, h.Size = tar.TypeDir, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeDir {
			w.Write([]byte(text))
		}
	}
	w.Close()
	z.Close()
	return out.Bytes()
}

const (
	openbNodes = "sn,cpu_milli,memory_mib,gpu,model\n"
	paiNodes   = "machine,gpu_type,cap_cpu,cap_mem,cap_gpu\n"
	lingjun    = "ip,DSW,PSW,ASW\n"
)

func TestMachines(t *testing.T) {
	server := func(name string, gpus int32, cpu, mem int64, gpuType string, gpuMem, rack int32) cluster.ServerSpec {
		return cluster.ServerSpec{Name: name, GPUs: gpus, CPUMilli: cpu, MemMiB: mem, GPUType: gpuType, GPUMemMiB: gpuMem, Rack: rack}
	}
	pai := []cluster.ServerSpec{server("a", 8, 96500, 512*1024, "V100", 0, 0), server("b", 0, 1000, 512, "", 0, 0)}
	for _, c := range []struct {
		what string
		text []byte
		want []cluster.ServerSpec
	}{
		{"openb", []byte(openbNodes + "a,32000,1024,0,\nb,1,2,4,V100M32\nc,1,2,4,\n"), []cluster.ServerSpec{
			server("a", 0, 32000, 1024, "", 0, 0), server("b", 4, 1, 2, "V100M32", 32768, 0), server("c", 4, 1, 2, "", 0, 0)}},
		{"PAI with a header", []byte(paiNodes + "a,V100,96.5,512,8\nb,CPU,1,0.5,0\n"), pai},
		{"PAI without", []byte("a,V100,96.5,512,8\nb,CPU,1,0.5,0\n"), pai},
		{"PAI packed, a folder before it", packed(t, []string{"x/", "x/a.csv"}, "a,V100,96.5,512,8\r\nb,CPU,1,0.5,0\r\n"), pai},
		{"Lingjun: racks by number, within their switch", []byte(lingjun + "a,G6,P10,S10\nb,G6,P8,S10\nc,G6,P10,S2\nd,G6,P10,S10\n"),
			[]cluster.ServerSpec{
				server("a", 0, cluster.Unlimited, cluster.Unlimited, "", 0, 3),
				server("b", 0, cluster.Unlimited, cluster.Unlimited, "", 0, 1),
				server("c", 0, cluster.Unlimited, cluster.Unlimited, "", 0, 2),
				server("d", 0, cluster.Unlimited, cluster.Unlimited, "", 0, 3),
			}},
	} {
		path := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(path, c.text, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadMachines(path); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%+v, %v, want\n%+v", c.what, got, err, c.want)
		}
	}
	if _, err := ReadMachines(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file is %v", err)
	}
}

func TestMachineErrors(t *testing.T) {
	var many strings.Builder
	for i := range cluster.MaxServers + 1 {
		fmt.Fprintf(&many, "n%d,T4,1,1,1\n", i)
	}
	for _, c := range []struct{ what, text, want string }{
		{"nothing", "", `m.csv: cluster has no servers, want at least 1`},
		{"a header alone", openbNodes, `m.csv: cluster has no servers, want at least 1`},
		{"unknown header", "a,b\n", `m.csv:1: cannot tell the trace format: machine list begins with "a,b", want the header ` +
			`sn,cpu_milli,memory_mib,gpu,model or machine,gpu_type,cap_cpu,cap_mem,cap_gpu or ip,DSW,PSW,ASW`},
		{"a job trace", nativeHead, `m.csv:1: cannot tell the trace format: machine list begins with ` +
			`"job_id,num_gpu,submit_time,duration", want the header ` +
			`sn,cpu_milli,memory_mib,gpu,model or machine,gpu_type,cap_cpu,cap_mem,cap_gpu or ip,DSW,PSW,ASW`},
		{"GPUs", openbNodes + "a,1,1,-1,T4\n", `m.csv:2: column "gpu": value "-1", want a whole number from 0 to 16384`},
		{"two types", openbNodes + "a,1,1,1,T4|V100\n", `m.csv:2: column "model": value "T4|V100", want one GPU type`},
		{"no name", openbNodes + ",1,1,1,T4\n", `m.csv:2: column "sn": value "", want a machine's name`},
		{"a name twice", "a,T4,1,1,1\na,T4,1,1,1\n",
			`m.csv:2: column "machine": value "a", want a machine that no earlier row has`},
		{"a late bad row", "a,T4,1,1,1\nb,T4,x,1,1\n",
			`m.csv:2: column "cap_cpu": value "x", want a number of at most 3 decimals from 0 to 1073741`},
		{"no switch", lingjun + "a,G6,P1,\n", `m.csv:2: column "ASW": value "", want a switch`},
		{"short row", lingjun + "a,G6\n", `m.csv:2: 2 fields, want 4`},
		{"too many", many.String(), `m.csv: cluster has 131073 servers, want at most 131072`},
		{"far too many", many.String() + "\n", `m.csv:131074: trace exceeds a limit: more than 131072 rows`},
		{"a torn archive", string(packed(t, []string{"a"}, openbNodes))[:60], `m.csv: read tar: unexpected EOF`},
		{"an archive of folders", string(packed(t, strings.Fields(strings.Repeat("x/ ", 65)), "")),
			`m.csv: trace exceeds a limit: no file among 64 entries of the tar`},
	} {
		_, err := readMachines(strings.NewReader(c.text), "m.csv")
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v, want\n%s", c.what, err, c.want)
		}
	}
}

// FuzzMachines checks that no file makes the reader panic or return servers that Spec.Validate refuses.
func FuzzMachines(f *testing.F) {
	formattest.Fuzz(f, formattest.Format[[]cluster.ServerSpec]{
		Read: func(text []byte) ([]cluster.ServerSpec, error) { return readMachines(bytes.NewReader(text), "fuzz") },
		Check: func(t *testing.T, servers []cluster.ServerSpec) {
			spec := cluster.Spec{Servers: servers}
			if err := spec.Validate(); err != nil {
				t.Fatal(err)
			}
			for _, s := range servers {
				if !names.OK(s.Name) || s.Name == "" || !names.OK(s.GPUType) {
					t.Fatalf("server %+v", s)
				}
			}
		},
	}, openbNodes+"a,32000,262144,0,\nb,96000,393216,8,G2\n", "a,CPU,96,512,0\nb,V100,96,384,8\n", lingjun+"a,G6,P10,S14\nb,G6,P12,S2\n",
		string(packed(f, []string{"x/", "a"}, "a,T4,96,512,2\n")))
}
