package belief

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/atomicfile"
)

// NetworkFile is the name of the file of a Network in its folder.
const NetworkFile = "runtimes.safetensors"

// Limits of a file that OpenNetwork reads.
const (
	maxNetwork = 64 << 20 // bytes
	maxMembers = 16
	maxHidden  = 1024
)

// networkKind says in a file's metadata what the file contains.
const networkKind = "clustergym-runtimes-1"

// Tensors returns the tensors of the network, which share its memory.
func (n *Network) Tensors() []checkpoints.Tensor {
	all := []checkpoints.Tensor{
		{Name: "inputs.mean", Shape: []int{Inputs}, Data: n.Mean}, {Name: "inputs.scale", Shape: []int{Inputs}, Data: n.Scale},
	}
	for i := range n.Members {
		all = append(all, n.Members[i].Tensors(strconv.Itoa(i))...)
	}
	return all
}

// Tensors returns the tensors of the member, which share its memory. Their names begin with the prefix.
func (m *Member) Tensors(prefix string) []checkpoints.Tensor {
	var all []checkpoints.Tensor
	in := Inputs
	for i := range m.W {
		out := len(m.B[i])
		name := fmt.Sprintf("%s.%d.", prefix, i)
		all = append(all, checkpoints.Tensor{Name: name + "w", Shape: []int{in, out}, Data: m.W[i]},
			checkpoints.Tensor{Name: name + "b", Shape: []int{out}, Data: m.B[i]})
		in = out
	}
	return all
}

// Write puts the network into a file in the folder, whole or not at all. Equal networks give equal bytes.
func (n *Network) Write(dir string) error {
	meta := map[string]string{"kind": networkKind, "inputs": strings.Join(inputNames, ",")}
	err := atomicfile.Write(filepath.Join(dir, NetworkFile), 0o666, func(w io.Writer) error {
		return checkpoints.WriteTensors(w, n.Tensors(), meta)
	})
	if err != nil {
		return fmt.Errorf("write network of run times: %w", err)
	}
	return nil
}

// OpenNetwork reads the file that Write put into the folder. For anything else it returns an error with the reason, which wraps
// checkpoints.ErrDamaged, checkpoints.ErrForeign or the error of reading.
func OpenNetwork(dir string) (*Network, error) {
	path := filepath.Join(dir, NetworkFile)
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read network of run times: %w", err)
	}
	defer f.Close()
	file, err := io.ReadAll(io.LimitReader(f, maxNetwork+1))
	if err != nil {
		return nil, fmt.Errorf("read network of run times: %w", err)
	}
	n, err := parseNetwork(file)
	if err != nil {
		return nil, fmt.Errorf("read network of run times %s: %w", path, err)
	}
	return n, nil
}

func parseNetwork(file []byte) (*Network, error) {
	tensors, meta, err := checkpoints.ReadTensors(file, checkpoints.Limits{Bytes: maxNetwork})
	if err != nil {
		return nil, err
	}
	if kind := meta["kind"]; kind != networkKind {
		return nil, fmt.Errorf("kind %.100q, want %q: %w", kind, networkKind, checkpoints.ErrForeign)
	}
	if meta["inputs"] != strings.Join(inputNames, ",") {
		return nil, fmt.Errorf("its inputs are not those of this version: train it again: %w", checkpoints.ErrForeign)
	}
	bad := func(err error) (*Network, error) { return nil, fmt.Errorf("%w: %w", checkpoints.ErrDamaged, err) }
	var n Network
	if n.Mean, err = numbers(tensors, "inputs.mean", Inputs); err != nil {
		return bad(err)
	}
	if n.Scale, err = numbers(tensors, "inputs.scale", Inputs); err != nil {
		return bad(err)
	}
	for i, v := range n.Scale {
		if v <= 0 {
			return bad(fmt.Errorf("tensor inputs.scale: number %d is %v, want more than 0", i, v))
		}
	}
	const each = 6 // tensors of a member
	members := (len(tensors) - 2) / each
	if members < 1 || members > maxMembers || len(tensors) != 2+each*members {
		return bad(fmt.Errorf("%d tensors, want those of 1 to %d members", len(tensors), maxMembers))
	}
	for i := range members {
		m, err := ReadMember(tensors, strconv.Itoa(i))
		if err != nil {
			return bad(err)
		}
		n.Members = append(n.Members, m)
	}
	return &n, nil
}

// ReadMember returns the member of which Tensors returned the tensors with this prefix.
func ReadMember(tensors []checkpoints.Tensor, prefix string) (Member, error) {
	var m Member
	in := Inputs
	for i := range m.W {
		name := fmt.Sprintf("%s.%d.", prefix, i)
		out := 1
		if i < len(m.W)-1 {
			if out = hidden(tensors, name+"b"); out < 1 || out > maxHidden {
				return m, fmt.Errorf("tensor %q: %d units, want 1 to %d", name+"b", out, maxHidden)
			}
		}
		var err error
		if m.W[i], err = numbers(tensors, name+"w", in, out); err != nil {
			return m, err
		}
		if m.B[i], err = numbers(tensors, name+"b", out); err != nil {
			return m, err
		}
		in = out
	}
	if len(m.B[0]) != len(m.B[1]) {
		return m, fmt.Errorf("hidden layers of %d and %d units, want as many in both", len(m.B[0]), len(m.B[1]))
	}
	return m, nil
}

// hidden returns the length of a tensor of one dimension, 0 if there is none of that name.
func hidden(tensors []checkpoints.Tensor, name string) int {
	for _, t := range tensors {
		if t.Name == name && len(t.Shape) == 1 {
			return t.Shape[0]
		}
	}
	return 0
}

// numbers returns the data of a tensor of finite numbers.
func numbers(tensors []checkpoints.Tensor, name string, shape ...int) ([]float32, error) {
	data, err := checkpoints.Get[float32](tensors, name, shape...)
	if err != nil {
		return nil, err
	}
	for i, v := range data {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("tensor %q: number %d is %v, want a finite number", name, i, v)
		}
	}
	return data, nil
}
