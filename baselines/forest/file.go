package forest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// errFormat is wrapped by the errors of Read about a file that Write did not write, or that is damaged, of another version, or
// beyond a limit.
var errFormat = errors.New("not a forest that can be read")

// magic begins a file and contains its version.
const magic = "clustergym forest 1\n"

// A file contains, in little endian: magic; features, flags (1: median) and trees as uint32; base as float64; for each tree its
// number of nodes as uint32; for each node, tree after tree and each tree in preorder, its feature as int16 (-1 for a leaf) and
// its value as float32; and the SHA-256 of all that. Preorder determines the children of each node, so no file can contain
// inconsistent links.
const (
	headBytes = 3*4 + 8
	nodeBytes = 2 + 4
	maxBytes  = len(magic) + headBytes + 4*maxTrees + nodeBytes*maxNodes + sha256.Size
)

// Write writes the forest. Equal forests give equal bytes.
func (f *Forest) Write(w io.Writer) error {
	b := []byte(magic)
	b = binary.LittleEndian.AppendUint32(b, uint32(f.features))
	flags := uint32(0)
	if f.median {
		flags = 1
	}
	b = binary.LittleEndian.AppendUint32(b, flags)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.roots)))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f.base))
	for k, root := range f.roots {
		end := len(f.nodes)
		if k+1 < len(f.roots) {
			end = int(f.roots[k+1])
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(end)-uint32(root))
	}
	for _, n := range f.nodes {
		b = binary.LittleEndian.AppendUint16(b, uint16(n.feature))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(n.value))
	}
	sum := sha256.Sum256(b)
	if _, err := w.Write(append(b, sum[:]...)); err != nil {
		return fmt.Errorf("write forest: %w", err)
	}
	return nil
}

// Read reads what Write wrote, to the end of r. The file is untrusted: errors say what is wrong, and Read allocates memory only
// in proportion to the file. The forest predicts exactly, bit for bit, what the written one does.
func Read(r io.Reader) (*Forest, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(maxBytes)+1))
	if err != nil {
		return nil, fmt.Errorf("read forest: %w", err)
	}
	f, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("read forest: %w: %w", errFormat, err)
	}
	return f, nil
}

func parse(b []byte) (*Forest, error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("it begins with %q, want %q", b[:min(len(b), len(magic))], magic)
	}
	if len(b) > maxBytes || len(b) < len(magic)+headBytes+sha256.Size {
		return nil, fmt.Errorf("%d bytes, want %d to %d", len(b), len(magic)+headBytes+sha256.Size, maxBytes)
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if want := sha256.Sum256(body); !slices.Equal(sum, want[:]) {
		return nil, errors.New("its checksum is wrong: it is damaged")
	}
	return parseBody(body[len(magic):])
}

// parseBody reads what is between magic and checksum; b contains at least the head.
func parseBody(b []byte) (*Forest, error) {
	le := binary.LittleEndian
	features, flags, trees := le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:])
	base := math.Float64frombits(binary.LittleEndian.Uint64(b[12:]))
	b = b[headBytes:]
	switch {
	case features < 1 || features > maxFeatures:
		return nil, fmt.Errorf("%d features, want 1 to %d", features, maxFeatures)
	case flags > 1:
		return nil, fmt.Errorf("flags %d, want 0 or 1", flags)
	case trees < 1 || trees > maxTrees:
		return nil, fmt.Errorf("%d trees, want 1 to %d", trees, maxTrees)
	case !(math.Abs(base) <= maxTarget):
		return nil, fmt.Errorf("base %v, want a number within ±%g", base, maxTarget)
	case len(b) < 4*int(trees):
		return nil, fmt.Errorf("%d trees in %d bytes", trees, len(b))
	}
	sizes, b := b[:4*trees], b[4*trees:]
	total := int64(0)
	for k := range int(trees) {
		total += int64(binary.LittleEndian.Uint32(sizes[4*k:]))
	}
	if total > maxNodes || total*nodeBytes != int64(len(b)) {
		return nil, fmt.Errorf("%d nodes in %d bytes, want at most %d of %d bytes each", total, len(b), maxNodes, nodeBytes)
	}
	f := &Forest{features: int(features), median: flags == 1, base: base, nodes: make([]node, 0, total)}
	for k := range int(trees) {
		size := int(binary.LittleEndian.Uint32(sizes[4*k:]))
		f.roots = append(f.roots, int32(len(f.nodes)))
		if err := f.parseTree(b[:nodeBytes*size]); err != nil {
			return nil, fmt.Errorf("tree %d: %w", k, err)
		}
		b = b[nodeBytes*size:]
	}
	return f, nil
}

// parseTree appends one tree, which takes all of b.
func (f *Forest) parseTree(b []byte) error {
	var splits []int32 // nodes that wait for their right child, which comes after the left child and all nodes below that
	done := false
	for ; len(b) > 0; b = b[nodeBytes:] {
		if done {
			return fmt.Errorf("node %d after its last leaf", len(f.nodes))
		}
		me := int32(len(f.nodes))
		n := node{
			feature: int32(int16(binary.LittleEndian.Uint16(b))),
			value:   math.Float32frombits(binary.LittleEndian.Uint32(b[2:])),
		}
		if n.feature < leaf || int(n.feature) >= f.features {
			return fmt.Errorf("node %d splits by feature %d, want 0 to %d", me, n.feature, f.features-1)
		}
		if v := float64(n.value); math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("node %d has the value %v, want a finite number", me, v)
		}
		f.nodes = append(f.nodes, n)
		switch {
		case n.feature != leaf:
			splits = append(splits, me)
		case len(splits) == 0:
			done = true
		default:
			last := splits[len(splits)-1]
			splits = splits[:len(splits)-1]
			f.nodes[last].right = me + 1
		}
	}
	if !done {
		return errors.New("it ends before its last leaf")
	}
	return nil
}
