package forest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

func written(t rapid.TB, f *Forest) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, f.Write(&b))
	return b.Bytes()
}

// TestReadIsWhatWasWritten checks that a forest is read back bit for bit as it was written, and written again as the same bytes.
func TestReadIsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawTable(t)
		c := small()
		c.Trees, c.MinLeaf, c.Median = rapid.IntRange(1, 5).Draw(t, "trees"), 1, rapid.Bool().Draw(t, "median")
		f := train(t, d.rows, d.targets, c)
		b := written(t, f)
		g := must.Get(Read(bytes.NewReader(b)))(t)
		for i := range f.nodes {
			if f.nodes[i].feature == leaf {
				f.nodes[i].right = 0 // unused in a leaf
			}
		}
		for i := range g.nodes {
			if g.nodes[i].feature == leaf {
				g.nodes[i].right = 0
			}
		}
		if !slices.Equal(f.nodes, g.nodes) || !slices.Equal(f.roots, g.roots) || f.base != g.base || f.median != g.median ||
			f.features != g.features {
			t.Fatalf("read %+v, want %+v", g, f)
		}
		if !bytes.Equal(b, written(t, g)) {
			t.Fatal("written again it is another file")
		}
	})
}

// sealed returns a file with the given body.
func sealed(body []byte) []byte {
	b := append([]byte(magic), body...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// body returns what is between magic and checksum. Nodes are pairs of feature and value.
func body(features, flags, trees uint32, base float64, sizes []uint32, nodes ...float64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, features), flags), trees)
	b = le.AppendUint64(b, math.Float64bits(base))
	for _, s := range sizes {
		b = le.AppendUint32(b, s)
	}
	for i := 0; i < len(nodes); i += 2 {
		b = le.AppendUint32(le.AppendUint16(b, uint16(int16(nodes[i]))), math.Float32bits(float32(nodes[i+1])))
	}
	return b
}

func TestReadMistakes(t *testing.T) {
	good := sealed(body(2, 0, 1, 0, []uint32{3}, 1, .5, -1, 1, -1, 2))
	if f, err := Read(bytes.NewReader(good)); err != nil || f.Predict([]float32{0, 1}) != 2 || f.Predict([]float32{0, .5}) != 1 {
		t.Fatalf("the smallest file with a split: %v", err)
	}
	flipped := slices.Clone(good)
	flipped[len(magic)+20] ^= 1
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, `begins with ""`},
		{"another file", []byte("job_id,num_gpu,submit_time,duration\n"), `begins with "job_id`},
		{"another version", []byte("clustergym forest 2\n"), `begins with "clustergym forest 2\n", want "clustergym forest 1\n"`},
		{"cut off", good[:len(good)-1], "checksum is wrong"},
		{"cut off in its head", good[:len(magic)+9], "29 bytes, want 72 to"},
		{"a bit flipped", flipped, "checksum is wrong"},
		{"no features", sealed(body(0, 0, 1, 0, []uint32{1}, -1, 0)), "0 features, want 1 to 4096"},
		{"flags", sealed(body(1, 2, 1, 0, []uint32{1}, -1, 0)), "flags 2"},
		{"no trees", sealed(body(1, 0, 0, 0, nil)), "0 trees, want 1 to 1024"},
		{"more trees than bytes", sealed(body(1, 0, 9, 0, nil)), "9 trees in 0 bytes"},
		{"no base", sealed(body(1, 0, 1, math.NaN(), []uint32{1}, -1, 0)), "base NaN"},
		{"more nodes than bytes", sealed(body(1, 0, 1, 0, []uint32{1 << 31}, -1, 0)), "2147483648 nodes in 6 bytes"},
		{"an empty tree", sealed(body(1, 0, 1, 0, []uint32{0})), "tree 0: it ends before its last leaf"},
		{"a split without leaves", sealed(body(1, 0, 1, 0, []uint32{2}, 0, 1, -1, 0)), "ends before its last leaf"},
		{"a leaf too many", sealed(body(1, 0, 1, 0, []uint32{2}, -1, 0, -1, 0)), "node 1 after its last leaf"},
		{"a feature too many", sealed(body(1, 0, 1, 0, []uint32{3}, 1, 0, -1, 0, -1, 0)), "feature 1, want 0 to 0"},
		{"a feature below all", sealed(body(1, 0, 1, 0, []uint32{1}, -2, 0)), "feature -2"},
		{"an infinite leaf", sealed(body(1, 0, 1, 0, []uint32{1}, -1, math.Inf(1))), "value +Inf"},
	} {
		_, err := Read(bytes.NewReader(c.file))
		if !errors.Is(err, errFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// FuzzRead checks that Read either rejects a file or returns a forest that predicts.
func FuzzRead(f *testing.F) {
	f.Add(body(2, 0, 1, 0, []uint32{3}, 1, .5, -1, 1, -1, 2))
	f.Add(body(1, 1, 2, 7, []uint32{1, 3}, -1, 4, 0, 0, -1, 1, -1, 2))
	f.Add(body(4096, 1, 1, 1e30, []uint32{5}, 0, 1, 1, 1, -1, 0, -1, 0, -1, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		forest, err := Read(bytes.NewReader(sealed(b)))
		if err != nil {
			return
		}
		for _, x := range []float32{-1, 0, 1, float32(math.Inf(1)), float32(math.NaN())} {
			row := make([]float32, forest.Features())
			for i := range row {
				row[i] = x * float32(i%3)
			}
			if y := forest.Predict(row); math.IsNaN(y) || math.IsInf(y, 0) {
				t.Fatalf("predicts %v", y)
			}
		}
		if again := written(t, forest); !bytes.Equal(again, sealed(b)) {
			t.Fatal("written again it is another file")
		}
	})
}
