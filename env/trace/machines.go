package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
)

// ReadMachines reads the machine list of a real cluster, in the order of the file: the nodes of Alibaba openb
// (sn,cpu_milli,memory_mib,gpu,model), the machines of Alibaba PAI 2020 (machine,gpu_type,cap_cpu,cap_mem,cap_gpu, with CPU in
// cores and memory in GiB, with or without that header) or the hosts of Alibaba Lingjun 2023 (ip,DSW,PSW,ASW). The file is plain,
// gzip, or a tar, of which ReadMachines reads the first file. All servers are in the training pool.
//
// Machines without GPUs are kept, with no GPU type. The memory of a GPU is set if its type determines it (docs/traces.md).
// Lingjun does not record GPUs, CPU and memory: its servers have Unlimited CPU and memory, and no GPUs until the caller sets
// them. Its racks are the switches to which hosts are connected (ASW within PSW within DSW), numbered from 1 in the order of the
// switches' numbers. Errors give the file and the line. A cluster.Spec with the returned servers is valid.
func ReadMachines(path string) ([]cluster.ServerSpec, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open machine list: %w", err)
	}
	defer f.Close()
	return readMachines(f, path)
}

// machineLayout is the header of a machine list and the parser of its rows.
type machineLayout struct {
	header []string
	bare   bool // the file may start without the header
	parse  func(row *row) machine
}

// machine is one row: a server, and the switches above it if the list has them.
type machine struct {
	cluster.ServerSpec
	switches [3]string
}

func machineLayouts() []machineLayout {
	return []machineLayout{
		{strings.Split("sn,cpu_milli,memory_mib,gpu,model", ","), false, parseOpenBNode},
		{strings.Split("machine,gpu_type,cap_cpu,cap_mem,cap_gpu", ","), true, parsePAIMachine},
		{strings.Split("ip,DSW,PSW,ASW", ","), false, parseLingjunHost},
	}
}

func readMachines(src io.Reader, name string) ([]cluster.ServerSpec, error) {
	body, err := openBytes(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l := newLines(body, Options{MaxLine: defaultMaxLine, MaxRows: cluster.MaxServers})
	machines, err := parseMachines(l)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, max(1, l.number), err)
	}
	spec := cluster.Spec{Servers: numberRacks(machines)}
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return spec.Servers, nil
}

// parseMachines reads all rows.
func parseMachines(l *lines) ([]machine, error) {
	var (
		machines []machine
		layout   machineLayout
		seen     = map[string]struct{}{}
	)
	for first := true; ; first = false {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return machines, nil
		}
		if err != nil {
			return nil, err
		}
		fields, err := splitLine(nil, line, ",")
		if err != nil {
			return nil, err
		}
		if first {
			var isHeader bool
			if layout, isHeader, err = chooseMachineLayout(fields); err != nil {
				return nil, err
			}
			if isHeader {
				continue
			}
		}
		if len(fields) != len(layout.header) {
			return nil, fmt.Errorf("%d fields, want %d", len(fields), len(layout.header))
		}
		row := row{header: layout.header, fields: fields}
		m := layout.parse(&row)
		if row.err != nil {
			return nil, row.err
		}
		if _, twice := seen[m.Name]; twice {
			return nil, columnError{layout.header[0], m.Name, "a machine that no earlier row has"}
		}
		m.Name = strings.Clone(m.Name) // Clone lets the rest of the line be freed
		seen[m.Name] = struct{}{}
		machines = append(machines, m)
	}
}

// chooseMachineLayout determines the layout of a list by its first line: a header, or a row of a list that may lack the header.
func chooseMachineLayout(fields []string) (l machineLayout, isHeader bool, err error) {
	var headers []string
	for _, l := range machineLayouts() {
		if slices.Equal(l.header, fields) {
			return l, true, nil
		}
		row := row{header: l.header, fields: fields}
		if l.bare && len(fields) == len(l.header) {
			if l.parse(&row); row.err == nil {
				return l, false, nil
			}
		}
		headers = append(headers, strings.Join(l.header, ","))
	}
	return machineLayout{}, false, fmt.Errorf("%w: machine list begins with %q, want the header %s", ErrFormat,
		shorten(strings.Join(fields, ",")), strings.Join(headers, " or "))
}

func parseOpenBNode(row *row) machine {
	return machine{ServerSpec: withGPUs(cluster.ServerSpec{
		Name:     row.some("sn", "a machine's name"),
		GPUs:     row.number("gpu", 0, cluster.MaxGPUs),
		CPUMilli: row.scaled("cpu_milli", 0, 0, maxMilli),
		MemMiB:   row.scaled("memory_mib", 0, 0, maxMilli),
	}, gpuType(row, "model"))}
}

func parsePAIMachine(row *row) machine {
	return machine{ServerSpec: withGPUs(cluster.ServerSpec{
		Name:     row.some("machine", "a machine's name"),
		GPUs:     row.number("cap_gpu", 0, cluster.MaxGPUs),
		CPUMilli: row.milli("cap_cpu", 0, maxMilli),
		MemMiB:   row.milli("cap_mem", 0, maxMilli) * 1024 / 1000,
	}, gpuType(row, "gpu_type"))}
}

func parseLingjunHost(row *row) machine {
	m := machine{ServerSpec: cluster.ServerSpec{CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited}}
	m.Name = row.some("ip", "a machine's name")
	for i, column := range [...]string{"DSW", "PSW", "ASW"} {
		m.switches[i] = strings.Clone(row.some(column, "a switch"))
	}
	return m
}

// gpuType returns the GPU type of a machine. It records an error if there are several.
func gpuType(row *row, column string) string {
	s := row.text(column)
	if strings.Contains(s, "|") {
		row.bad(column, s, "one GPU type")
	}
	return s
}

// withGPUs sets the GPU type and GPU memory of a server, if it has GPUs.
func withGPUs(s cluster.ServerSpec, gpuType string) cluster.ServerSpec {
	if s.GPUs > 0 {
		s.GPUType, s.GPUMemMiB = strings.Clone(gpuType), gpuMemMiB(gpuType)
	}
	return s
}

// gpuMemMiB returns the memory of a GPU in MiB if the name of its type determines it, and 0 otherwise: openb's G2 and G3 are code
// names, PAI's V100 may be either of two variants, and MISC means several types.
func gpuMemMiB(gpuType string) int32 {
	switch gpuType {
	case "P100", "T4", "V100M16":
		return 16 << 10
	case "A10":
		return 24 << 10
	case "V100M32":
		return 32 << 10
	}
	return 0
}

// numberRacks converts switches to rack numbers. S2 comes before S10.
func numberRacks(machines []machine) []cluster.ServerSpec {
	number := func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
	order := func(a, b [3]string) int {
		return cmp.Or(number(a[0], b[0]), number(a[1], b[1]), number(a[2], b[2]))
	}
	var racks [][3]string
	for i := range machines {
		if s := machines[i].switches; s != [3]string{} {
			racks = append(racks, s)
		}
	}
	slices.SortFunc(racks, order)
	racks = slices.Compact(racks)
	servers := make([]cluster.ServerSpec, len(machines))
	for i, m := range machines {
		servers[i] = m.ServerSpec
		if k, ok := slices.BinarySearchFunc(racks, m.switches, order); ok {
			servers[i].Rack = int32(k + 1)
		}
	}
	return servers
}
