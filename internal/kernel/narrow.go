package kernel

// narrow is the largest number of columns for which a product runs in plain loops that keep a row of the result in registers.
// BLAS is fast only for long rows, and the rows of heads and of the last layers are short.
const narrow = 8

// gemmNarrow is Gemm for at most narrow columns and without transposition.
func gemmNarrow[T Float](dst Matrix[T], alpha T, a, b Matrix[T], beta T) {
	for i := range dst.Rows {
		row, x := dst.Data[i*dst.Stride:][:dst.Cols], a.Data[i*a.Stride:][:a.Cols]
		j := 0
		for ; j+8 <= len(row); j += 8 {
			product8((*[8]T)(row[j:]), alpha, x, b.Data[j:], b.Stride, beta)
		}
		for ; j+4 <= len(row); j += 4 {
			product4((*[4]T)(row[j:]), alpha, x, b.Data[j:], b.Stride, beta)
		}
		for ; j < len(row); j++ {
			row[j] = alpha*column(x, b.Data[j:], b.Stride) + keep(row[j], beta)
		}
	}
}

// keep returns beta*old, the old content that a product adds to. If beta is 0, it returns 0 even if old is NaN.
func keep[T Float](old, beta T) T {
	if beta == 0 {
		return 0
	}
	return beta * old
}

// column returns the product of the row x with a column of a matrix.
func column[T Float](x, y []T, stride int) T {
	if stride == 1 {
		return dot4(x, y)
	}
	var s T
	at := 0
	for _, v := range x {
		s += v * y[at]
		at += stride
	}
	return s
}

// dot4 is dot with four partial sums, which do not wait for each other.
func dot4[T Float](x, y []T) T {
	var s0, s1, s2, s3 T
	y = y[:len(x)]
	for len(x) >= 4 && len(y) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s0 += v * y[i]
	}
	return (s0 + s1) + (s2 + s3)
}

func product4[T Float](dst *[4]T, alpha T, x, y []T, stride int, beta T) {
	var s0, s1, s2, s3 T
	at := 0
	for _, v := range x {
		r := (*[4]T)(y[at:])
		s0 += v * r[0]
		s1 += v * r[1]
		s2 += v * r[2]
		s3 += v * r[3]
		at += stride
	}
	dst[0] = alpha*s0 + keep(dst[0], beta)
	dst[1] = alpha*s1 + keep(dst[1], beta)
	dst[2] = alpha*s2 + keep(dst[2], beta)
	dst[3] = alpha*s3 + keep(dst[3], beta)
}

func product8[T Float](dst *[8]T, alpha T, x, y []T, stride int, beta T) {
	var s0, s1, s2, s3, s4, s5, s6, s7 T
	at := 0
	for _, v := range x {
		r := (*[8]T)(y[at:])
		s0 += v * r[0]
		s1 += v * r[1]
		s2 += v * r[2]
		s3 += v * r[3]
		s4 += v * r[4]
		s5 += v * r[5]
		s6 += v * r[6]
		s7 += v * r[7]
		at += stride
	}
	for j, s := range [8]T{s0, s1, s2, s3, s4, s5, s6, s7} {
		dst[j] = alpha*s + keep(dst[j], beta)
	}
}

// gemmNarrowT is Gemm for at most narrow columns and a transposed a. It computes the gradients of weights and keys.
func gemmNarrowT[T Float](dst Matrix[T], alpha T, a, b Matrix[T], beta T) {
	for i := range dst.Rows {
		row := dst.Data[i*dst.Stride:][:dst.Cols]
		for j, v := range row {
			row[j] = keep(v, beta)
		}
	}
	for l := range a.Cols {
		x, y := a.Data[l*a.Stride:][:dst.Rows], b.Data[l*b.Stride:][:dst.Cols]
		switch {
		case len(y) == 8:
			outer8(dst, alpha, x, (*[8]T)(y))
		case len(y) == 4:
			outer4(dst, alpha, x, (*[4]T)(y))
		case len(y) == 1 && dst.Stride == 1:
			Axpy(dst.Data[:len(x)], alpha*y[0], x)
		default:
			for i, v := range x {
				Axpy(dst.Data[i*dst.Stride:][:len(y)], alpha*v, y)
			}
		}
	}
}

func outer4[T Float](dst Matrix[T], alpha T, x []T, y *[4]T) {
	y0, y1, y2, y3 := alpha*y[0], alpha*y[1], alpha*y[2], alpha*y[3]
	at := 0
	for _, v := range x {
		r := (*[4]T)(dst.Data[at:])
		r[0] += v * y0
		r[1] += v * y1
		r[2] += v * y2
		r[3] += v * y3
		at += dst.Stride
	}
}

func outer8[T Float](dst Matrix[T], alpha T, x []T, y *[8]T) {
	y0, y1, y2, y3 := alpha*y[0], alpha*y[1], alpha*y[2], alpha*y[3]
	y4, y5, y6, y7 := alpha*y[4], alpha*y[5], alpha*y[6], alpha*y[7]
	at := 0
	for _, v := range x {
		r := (*[8]T)(dst.Data[at:])
		r[0] += v * y0
		r[1] += v * y1
		r[2] += v * y2
		r[3] += v * y3
		r[4] += v * y4
		r[5] += v * y5
		r[6] += v * y6
		r[7] += v * y7
		at += dst.Stride
	}
}

// short reports whether products of rows of k elements have plain loops: the scores of attention heads with the default width 8,
// and the input gradients of the last layers.
func short(k int) bool { return k == 1 || k == 4 || k == 8 }

// gemmShort is Gemm for a transposed b, if short is true for the length of the rows of a and b.
func gemmShort[T Float](dst Matrix[T], alpha T, a, b Matrix[T], beta T) {
	for i := range dst.Rows {
		row, at := dst.Data[i*dst.Stride:][:dst.Cols], 0
		switch x := a.Data[i*a.Stride:][:a.Cols]; len(x) {
		case 1:
			x0 := alpha * x[0]
			for j, v := range row {
				row[j] = x0*b.Data[at] + keep(v, beta)
				at += b.Stride
			}
		case 4:
			x0, x1, x2, x3 := alpha*x[0], alpha*x[1], alpha*x[2], alpha*x[3]
			for j, v := range row {
				y := (*[4]T)(b.Data[at:])
				row[j] = (x0*y[0] + x1*y[1]) + (x2*y[2] + x3*y[3]) + keep(v, beta)
				at += b.Stride
			}
		case 8:
			x0, x1, x2, x3 := alpha*x[0], alpha*x[1], alpha*x[2], alpha*x[3]
			x4, x5, x6, x7 := alpha*x[4], alpha*x[5], alpha*x[6], alpha*x[7]
			for j, v := range row {
				y := (*[8]T)(b.Data[at:])
				s := ((x0*y[0] + x1*y[1]) + (x2*y[2] + x3*y[3])) + ((x4*y[4] + x5*y[5]) + (x6*y[6] + x7*y[7]))
				row[j] = s + keep(v, beta)
				at += b.Stride
			}
		}
	}
}
