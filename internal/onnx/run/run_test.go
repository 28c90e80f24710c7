package run

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

// array is a tensor in cases.json.
type array struct {
	Type  string
	Shape []int
	Data  []any
}

func (a array) tensor(t *testing.T) *Tensor {
	t.Helper()
	x := &Tensor{Shape: a.Shape}
	for kind, name := range typeNames {
		if name == a.Type {
			x.Type = kind
		}
	}
	for _, v := range a.Data {
		f := 0.0
		switch v := v.(type) {
		case bool:
			f = float64(bit(v))
		case json.Number:
			if x.Type != Float {
				n := must.Get(v.Int64())(t)
				x.Ints = append(x.Ints, n)
				continue
			}
			f, _ = v.Float64()
		case string:
			f, _ = strconv.ParseFloat(v, 64)
		}
		if x.Type == Float {
			x.Floats = append(x.Floats, float32(f))
		} else {
			x.Ints = append(x.Ints, int64(f))
		}
	}
	return x
}

// runCase is a model with inputs and what ONNX Runtime computes from them.
type runCase struct {
	Name            string
	Model           string
	Inputs, Outputs map[string]array
}

func (c *runCase) file(t testing.TB) []byte {
	t.Helper()
	file := must.Get(base64.StdEncoding.DecodeString(c.Model))(t)
	return file
}

func readCases(t testing.TB) (cases []runCase) {
	t.Helper()
	file := must.Get(os.Open("testdata/cases.json"))(t)
	defer file.Close()
	dec := json.NewDecoder(file)
	dec.UseNumber()
	must.Do(t, dec.Decode(&cases))
	return cases
}

// TestOperatorsAreThoseOfONNXRuntime compares every operator with ONNX Runtime: types and shapes exactly, floats to 1e-5.
func TestOperatorsAreThoseOfONNXRuntime(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range readCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			m := must.Get(Parse(c.file(t)))(t)
			for _, n := range m.nodes {
				tested[n.operator] = true
			}
			inputs := map[string]*Tensor{}
			for name, a := range c.Inputs {
				inputs[name] = a.tensor(t)
			}
			got := must.Get(m.Run(t.Context(), inputs))(t)
			for name, a := range c.Outputs {
				if err := differ(got[name], a.tensor(t)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	for name := range operators {
		if !tested[name] {
			t.Errorf("no case has the operator %s", name)
		}
	}
}

// differ returns an error if two tensors are not equal.
func differ(got, want *Tensor) error {
	if got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) || got.Len() != want.Len() {
		return fmt.Errorf("%v, want %v", got, want)
	}
	if !slices.Equal(got.Ints, want.Ints) {
		return fmt.Errorf("%v, want %v", got.Ints, want.Ints)
	}
	for i, w := range want.Floats {
		x, y := float64(got.Floats[i]), float64(w)
		if x != y && !(math.IsNaN(x) && math.IsNaN(y)) && !(math.Abs(x-y) <= 1e-5*(1+math.Abs(y))) {
			return fmt.Errorf("%v at %d, want %v", x, i, y)
		}
	}
	return nil
}
