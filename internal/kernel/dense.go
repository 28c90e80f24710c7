package kernel

import "fmt"

// Activation is the nonlinearity of a dense layer.
type Activation uint8

// The activations.
const (
	None Activation = iota // identity
	ReLU                   // max(0, x)
)

func (a Activation) String() string {
	switch a {
	case None:
		return "none"
	case ReLU:
		return "relu"
	}
	return fmt.Sprintf("Activation(%d)", uint8(a))
}

// Dense computes y = act(x*w + b) for x [rows,in], w [in,out], b [out] (nil for none) and y [rows,out].
func Dense[T Float](y, x, w, b []T, in, out int, act Activation) {
	rows := RowsOf("dense input", x, in)
	Want("dense output", y, rows*out)
	beta := T(0)
	if b != nil {
		Want("dense bias", b, out)
		for r := range rows {
			copy(y[r*out:(r+1)*out], b)
		}
		beta = 1
	}
	Gemm(Mat(y, rows, out), 1, Mat(x, rows, in), Mat(w, in, out), beta)
	activate(y, act)
}

func activate[T Float](y []T, act Activation) {
	switch act {
	case None:
	case ReLU:
		for i, v := range y {
			y[i] = max(v, 0)
		}
	default:
		panic(fmt.Sprintf("kernel: activate with unknown %v", act))
	}
}

// ActivateBack computes dz, the gradient before the activation, from the layer's output y and its gradient dy. All have the same
// length. dz may be dy itself.
func ActivateBack[T Float](dz, dy, y []T, act Activation) {
	Want("output", y, len(dy))
	Want("gradient before activation", dz, len(dy))
	switch act {
	case None:
		copy(dz, dy)
	case ReLU:
		for i, v := range y {
			if v > 0 {
				dz[i] = dy[i]
			} else {
				dz[i] = 0
			}
		}
	default:
		panic(fmt.Sprintf("kernel: differentiate unknown %v", act))
	}
}

// DenseBack computes the gradients of Dense from dz [rows,out], the gradient before the activation (see ActivateBack): dx =
// dz*wT, dw = xT*dz and db = the column sums of dz. It skips nil destinations; x may be nil if dw is nil, and w may be nil if dx
// is nil.
func DenseBack[T Float](dx, dw, db, dz, x, w []T, in, out int) {
	rows := RowsOf("dense gradient", dz, out)
	g := Mat(dz, rows, out)
	if dx != nil {
		Gemm(Mat(dx, rows, in), 1, g, Mat(w, in, out).T(), 0)
	}
	if dw != nil {
		Gemm(Mat(dw, in, out), 1, Mat(x, rows, in).T(), g, 0)
	}
	if db != nil {
		Want("dense bias gradient", db, out)
		SumRows(db, dz)
	}
}

// SumRows computes the sum of the rows of x into dst. A row has the length of dst.
func SumRows[T Float](dst, x []T) {
	cols := len(dst)
	rows := RowsOf("summed matrix", x, cols)
	if fast[T]() && rows > 0 { // the product of a row of ones with x
		one := float32(1)
		p := lanesProduct{dst: single(dst), ldd: cols, x: &one, rows: 1, k: rows, alpha: 1}
		p.columns(0, single(x), cols, cols)
		return
	}
	clear(dst)
	for r := range rows {
		Axpy(dst, 1, x[r*cols:(r+1)*cols])
	}
}
