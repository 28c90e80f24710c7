package belief

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/checkpoints"
)

// SpeedNetworkFile is the name of the file of a SpeedNetwork in its folder.
const SpeedNetworkFile = "speeds.safetensors"

// speedNetworkKind says in a file's metadata what the file contains.
const speedNetworkKind = "clustergym-speeds-1"

// speedInputs are the names of all inputs.
func speedInputs() string {
	return strings.Join(slices.Concat(contextInputs, pointInputs), ",")
}

// scalings returns the scalings of a network with their names and lengths.
func (n *SpeedNetwork) scalings() []namedScaling {
	return []namedScaling{{"context", SpeedContext, &n.Context}, {"point", SpeedPoint, &n.Point}}
}

type namedScaling struct {
	name   string
	inputs int
	s      *Scaling
}

// Tensors returns the tensors of the network, which share its memory.
func (n *SpeedNetwork) Tensors() []checkpoints.Tensor {
	var all []checkpoints.Tensor
	for _, s := range n.scalings() {
		all = append(all, s.s.tensors(s.name)...)
	}
	for i := range n.Members {
		all = append(all, n.Members[i].Tensors(strconv.Itoa(i))...)
	}
	return all
}

// Tensors returns the tensors of the member, which share its memory. Their names begin with the prefix.
func (m *SpeedMember) Tensors(prefix string) []checkpoints.Tensor {
	var all []checkpoints.Tensor
	for i := range m.W {
		in, out := SpeedShape(i, m.Hidden())
		name := fmt.Sprintf("%s.%d.", prefix, i)
		all = append(all, checkpoints.Tensor{Name: name + "w", Shape: []int{in, out}, Data: m.W[i]},
			checkpoints.Tensor{Name: name + "b", Shape: []int{out}, Data: m.B[i]})
	}
	return all
}

// Write puts the network into a file in the folder, whole or not at all. Equal networks give equal bytes.
func (n *SpeedNetwork) Write(dir string) error {
	meta := map[string]string{"kind": speedNetworkKind, "inputs": speedInputs()}
	if err := writeTensors(filepath.Join(dir, SpeedNetworkFile), n.Tensors(), meta); err != nil {
		return fmt.Errorf("write network of speeds: %w", err)
	}
	return nil
}

// OpenSpeedNetwork reads the file that Write put into the folder. For anything else it returns an error with the reason, which
// wraps checkpoints.ErrDamaged, checkpoints.ErrForeign or the error of reading.
func OpenSpeedNetwork(dir string) (*SpeedNetwork, error) {
	path := filepath.Join(dir, SpeedNetworkFile)
	file, err := readNetwork(path)
	if err != nil {
		return nil, fmt.Errorf("read network of speeds: %w", err)
	}
	n, err := parseSpeedNetwork(file)
	if err != nil {
		return nil, fmt.Errorf("read network of speeds %s: %w", path, err)
	}
	return n, nil
}

func parseSpeedNetwork(file []byte) (*SpeedNetwork, error) {
	tensors, err := networkTensors(file, speedNetworkKind, speedInputs())
	if err != nil {
		return nil, err
	}
	n := &SpeedNetwork{}
	for _, s := range n.scalings() {
		if *s.s, err = readScaling(tensors, s.name, s.inputs); err != nil {
			return nil, fmt.Errorf("%w: %w", checkpoints.ErrDamaged, err)
		}
	}
	members, err := memberCount(len(tensors), 2*len(n.scalings()), 2*SpeedLayers)
	for i := range members {
		var m SpeedMember
		if err == nil {
			m, err = ReadSpeedMember(tensors, strconv.Itoa(i))
		}
		n.Members = append(n.Members, m)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", checkpoints.ErrDamaged, err)
	}
	return n, nil
}

// ReadSpeedMember returns the member of which Tensors returned the tensors with this prefix.
func ReadSpeedMember(tensors []checkpoints.Tensor, prefix string) (SpeedMember, error) {
	var m SpeedMember
	h, err := hiddenUnits(tensors, prefix+".0.b")
	for i := range m.W {
		in, out := SpeedShape(i, h)
		name := fmt.Sprintf("%s.%d.", prefix, i)
		if err == nil {
			m.W[i], err = numbers(tensors, name+"w", in, out)
		}
		if err == nil {
			m.B[i], err = numbers(tensors, name+"b", out)
		}
	}
	return m, err
}
