package plain

// OfferRows is, per offer, the weighted sum of its servers, its job, the means of servers and jobs, and its features.
func OfferRows(h, y, z, weights, of, serverMask, jobMask []complex128, batch, n, jobs, offers, d, f int) []complex128 {
	var out []complex128
	servers, waiting := Pool(h, serverMask, n, d, false), make([]complex128, batch*d)
	if jobs > 0 {
		waiting = Pool(y, jobMask, jobs, d, false)
	}
	for b := range batch {
		for o := b * offers; o < (b+1)*offers; o++ {
			pooled, job := make([]complex128, d), make([]complex128, d)
			for j := range d {
				for i := range n {
					pooled[j] += weights[o*n+i] * h[(b*n+i)*d+j]
				}
				if k := int(real(of[o])); k >= 0 {
					job[j] = y[(b*jobs+k)*d+j]
				}
			}
			out = append(append(out, pooled...), job...)
			out = append(append(out, servers[b*d:(b+1)*d]...), waiting[b*d:(b+1)*d]...)
			out = append(out, z[o*f:(o+1)*f]...)
		}
	}
	return out
}

// Payoff is sum_r d_r * sum_i sum_j w_i w_j q_ir near_jr per offer, term by term.
func Payoff(q, near, d, weights []complex128, batch, n, offers int) []complex128 {
	y, rank := make([]complex128, batch*offers), len(d)
	for o := range y {
		b := o / offers
		for i := range n {
			for j := range n {
				for r := range rank {
					y[o] += d[r] * weights[o*n+i] * weights[o*n+j] * q[(b*n+i)*rank+r] * near[(b*n+j)*rank+r]
				}
			}
		}
	}
	return y
}

// NeighbourSums is x_i plus the rows that it is linked to, per group of n.
func NeighbourSums(x, adj []complex128, n, width int) []complex128 {
	y := make([]complex128, len(x))
	for i := range len(x) / width {
		for t := range width {
			y[i*width+t] = x[i*width+t]
			for j := range n {
				y[i*width+t] += adj[i*n+j] * x[(i/n*n+j)*width+t]
			}
		}
	}
	return y
}

// MeanOthers is the mean of the other valid rows of the group of n, for the valid rows that have any.
func MeanOthers(x, mask []complex128, n, d int) []complex128 {
	y := make([]complex128, len(x))
	for i := range mask {
		for t := range d {
			var sum, count complex128
			for j := i / n * n; j < i/n*n+n; j++ {
				if j != i && mask[j] != 0 {
					sum += x[j*d+t]
					count++
				}
			}
			if mask[i] != 0 && count != 0 {
				y[i*d+t] = sum / count
			}
		}
	}
	return y
}
