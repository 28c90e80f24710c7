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
			row[j] = product1(row[j], alpha, x, b.Data[j:], b.Stride, beta)
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

// product1 returns an element of the result: old is its old content, x a row of a, and y starts at the column of b.
func product1[T Float](old, alpha T, x, y []T, stride int, beta T) T {
	s, at := keep(old, beta), 0
	for _, v := range x {
		s += alpha * v * y[at]
		at += stride
	}
	return s
}

func product4[T Float](dst *[4]T, alpha T, x, y []T, stride int, beta T) {
	s0, s1, s2, s3 := keep(dst[0], beta), keep(dst[1], beta), keep(dst[2], beta), keep(dst[3], beta)
	at := 0
	for _, v := range x {
		v *= alpha
		r := (*[4]T)(y[at:])
		s0 += v * r[0]
		s1 += v * r[1]
		s2 += v * r[2]
		s3 += v * r[3]
		at += stride
	}
	*dst = [4]T{s0, s1, s2, s3}
}

func product8[T Float](dst *[8]T, alpha T, x, y []T, stride int, beta T) {
	s0, s1, s2, s3 := keep(dst[0], beta), keep(dst[1], beta), keep(dst[2], beta), keep(dst[3], beta)
	s4, s5, s6, s7 := keep(dst[4], beta), keep(dst[5], beta), keep(dst[6], beta), keep(dst[7], beta)
	at := 0
	for _, v := range x {
		v *= alpha
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
	*dst = [8]T{s0, s1, s2, s3, s4, s5, s6, s7}
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
		default:
			for i, v := range x {
				Axpy(dst.Data[i*dst.Stride:][:len(y)], alpha*v, y)
			}
		}
	}
}

func outer4[T Float](dst Matrix[T], alpha T, x []T, y *[4]T) {
	y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
	at := 0
	for _, v := range x {
		v *= alpha
		r := (*[4]T)(dst.Data[at:])
		r[0] += v * y0
		r[1] += v * y1
		r[2] += v * y2
		r[3] += v * y3
		at += dst.Stride
	}
}

func outer8[T Float](dst Matrix[T], alpha T, x []T, y *[8]T) {
	y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
	y4, y5, y6, y7 := y[4], y[5], y[6], y[7]
	at := 0
	for _, v := range x {
		v *= alpha
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
