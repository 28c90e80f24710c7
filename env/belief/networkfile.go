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
	all := n.Inputs.tensors("inputs")
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
	if err := writeTensors(filepath.Join(dir, NetworkFile), n.Tensors(), meta); err != nil {
		return fmt.Errorf("write network of run times: %w", err)
	}
	return nil
}

// writeTensors writes a file of tensors, whole or not at all.
func writeTensors(path string, tensors []checkpoints.Tensor, meta map[string]string) error {
	return atomicfile.Write(path, 0o666, func(w io.Writer) error { return checkpoints.WriteTensors(w, tensors, meta) })
}

// OpenNetwork reads the file that Write put into the folder. For anything else it returns an error with the reason, which wraps
// checkpoints.ErrDamaged, checkpoints.ErrForeign or the error of reading.
func OpenNetwork(dir string) (*Network, error) {
	path := filepath.Join(dir, NetworkFile)
	file, err := readNetwork(path)
	if err != nil {
		return nil, fmt.Errorf("read network of run times: %w", err)
	}
	n, err := parseNetwork(file)
	if err != nil {
		return nil, fmt.Errorf("read network of run times %s: %w", path, err)
	}
	return n, nil
}

// readNetwork reads a file up to one byte more than a network may have.
func readNetwork(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxNetwork+1))
}

// networkTensors returns the tensors of a file that must be of the given kind and have these inputs.
func networkTensors(file []byte, want, inputs string) ([]checkpoints.Tensor, error) {
	tensors, meta, err := checkpoints.ReadTensors(file, checkpoints.Limits{Bytes: maxNetwork})
	if err != nil {
		return nil, err
	}
	if kind := meta["kind"]; kind != want {
		return nil, fmt.Errorf("kind %.100q, want %q: %w", kind, want, checkpoints.ErrForeign)
	}
	if meta["inputs"] != inputs {
		return nil, fmt.Errorf("its inputs are not those of this version: train it again: %w", checkpoints.ErrForeign)
	}
	return tensors, nil
}

func parseNetwork(file []byte) (*Network, error) {
	tensors, err := networkTensors(file, networkKind, strings.Join(inputNames, ","))
	if err != nil {
		return nil, err
	}
	n := &Network{}
	members := 0
	n.Inputs, err = readScaling(tensors, "inputs", Inputs)
	if err == nil {
		members, err = memberCount(len(tensors), 2, 2*len(Member{}.W))
	}
	for i := range members {
		var m Member
		if err == nil {
			m, err = ReadMember(tensors, strconv.Itoa(i))
		}
		n.Members = append(n.Members, m)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", checkpoints.ErrDamaged, err)
	}
	return n, nil
}

// tensors returns the mean and the standard deviation of inputs, which share the memory of s.
func (s *Scaling) tensors(name string) []checkpoints.Tensor {
	return []checkpoints.Tensor{
		{Name: name + ".mean", Shape: []int{len(s.Mean)}, Data: s.Mean},
		{Name: name + ".scale", Shape: []int{len(s.Scale)}, Data: s.Scale},
	}
}

// readScaling reads the mean and the standard deviation of inputs.
func readScaling(tensors []checkpoints.Tensor, name string, inputs int) (s Scaling, err error) {
	if s.Mean, err = numbers(tensors, name+".mean", inputs); err != nil {
		return s, err
	}
	if s.Scale, err = numbers(tensors, name+".scale", inputs); err != nil {
		return s, err
	}
	for i, v := range s.Scale {
		if v <= 0 {
			return s, fmt.Errorf("tensor %s.scale: number %d is %v, want more than 0", name, i, v)
		}
	}
	return s, nil
}

// memberCount returns the number of members in a file with so many tensors: some of the network, and each member's.
func memberCount(tensors, own, each int) (int, error) {
	n := (tensors - own) / each
	if n < 1 || n > maxMembers || tensors != own+each*n {
		return 0, fmt.Errorf("%d tensors, want those of 1 to %d members", tensors, maxMembers)
	}
	return n, nil
}

// ReadMember returns the member of which Tensors returned the tensors with this prefix.
func ReadMember(tensors []checkpoints.Tensor, prefix string) (Member, error) {
	var m Member
	var err error
	in := Inputs
	for i := range m.W {
		name := fmt.Sprintf("%s.%d.", prefix, i)
		out := 1
		if i < len(m.W)-1 {
			if out, err = hiddenUnits(tensors, name+"b"); err != nil {
				return m, err
			}
		}
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

// hiddenUnits returns the number of units of a layer, by the tensor of its biases.
func hiddenUnits(tensors []checkpoints.Tensor, name string) (int, error) {
	n := 0
	for _, t := range tensors {
		if t.Name == name && len(t.Shape) == 1 {
			n = t.Shape[0]
		}
	}
	if n < 1 || n > maxHidden {
		return 0, fmt.Errorf("tensor %q: %d units, want 1 to %d", name, n, maxHidden)
	}
	return n, nil
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
