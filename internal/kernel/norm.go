package kernel

import "math"

// normEps keeps the inverse deviation of a constant row finite.
const normEps = 1e-5

// LayerNorm normalises each row of x [rows,d] to mean 0 and variance 1, then scales by gain [d] and shifts by bias [d]:
// y = (x-mean)/sqrt(var+1e-5)*gain + bias. y may be x.
func LayerNorm[T Float](y, x, gain, bias []T) {
	d := len(gain)
	rows := RowsOf("layer norm input", x, d)
	Want("layer norm bias", bias, d)
	Want("layer norm output", y, len(x))
	if fast[T]() && d%8 == 0 && rows > 0 {
		layerNorm8(&single(y)[0], &single(x)[0], &single(gain)[0], &single(bias)[0], rows, d, float64(d), normEps)
		return
	}
	for r := range rows {
		xr, yr := x[r*d:(r+1)*d], y[r*d:(r+1)*d]
		mean, inv := moments(xr)
		for j, v := range xr {
			yr[j] = (v-mean)*inv*gain[j] + bias[j]
		}
	}
}

// LayerNormBack computes the gradients of LayerNorm: dx [rows,d], dgain [d], dbias [d]. It skips nil destinations.
func LayerNormBack[T Float](dx, dgain, dbias, dy, x, gain []T) {
	d := len(gain)
	rows := RowsOf("layer norm input", x, d)
	Want("layer norm output gradient", dy, len(x))
	WantOrNil("layer norm input gradient", dx, len(x))
	WantOrNil("layer norm gain gradient", dgain, d)
	WantOrNil("layer norm bias gradient", dbias, d)
	if dbias != nil {
		SumRows(dbias, dy)
	}
	clear(dgain)
	if fast[T]() && d%8 == 0 && rows > 0 && dx != nil && dgain != nil {
		layerNormBack8(&single(dx)[0], &single(dgain)[0], &single(dy)[0], &single(x)[0], &single(gain)[0], rows, d, float64(d),
			normEps)
		return
	}
	for r := range rows {
		xr, gr := x[r*d:(r+1)*d], dy[r*d:(r+1)*d]
		mean, inv := moments(xr)
		if dgain != nil {
			for j, g := range gr {
				dgain[j] += (xr[j] - mean) * inv * g
			}
		}
		if dx == nil {
			continue
		}
		// The mean and the deviation depend on x too: subtract the gradient's projections on both.
		var means, devs eight[T]
		for j, g := range gr {
			t := g * gain[j]
			means[j%8] += t
			devs[j%8] += t * ((xr[j] - mean) * inv)
		}
		onMean, onDev := means.total()/T(d), devs.total()/T(d)
		dr := dx[r*d : (r+1)*d]
		for j, g := range gr {
			dr[j] = inv * (g*gain[j] - onMean - (xr[j]-mean)*inv*onDev)
		}
	}
}

// moments returns the mean and the inverse standard deviation of x, summed in double precision.
func moments[T Float](x []T) (mean, inv T) {
	var sums, squares eight[float64]
	for j, v := range x {
		sums[j%8] += float64(v)
	}
	n := float64(len(x))
	m := sums.total() / n
	for j, v := range x {
		squares[j%8] += (float64(v) - m) * (float64(v) - m)
	}
	return T(m), T(1 / math.Sqrt(squares.total()/n+normEps))
}
