package plain

// Readout returns for each candidate: the weighted sum of its agents, its item, the means of all agents and of all items, and its
// features.
func Readout(h, y, z, weights, of, agentMask, itemMask []complex128, batch, n, items, candidates, d, f int) []complex128 {
	var out []complex128
	agents, all := mean(h, agentMask, n, d), make([]complex128, batch*d)
	if items > 0 {
		all = mean(y, itemMask, items, d)
	}
	for b := range batch {
		for c := b * candidates; c < (b+1)*candidates; c++ {
			pooled, item := make([]complex128, d), make([]complex128, d)
			for j := range d {
				for i := range n {
					pooled[j] += weights[c*n+i] * h[(b*n+i)*d+j]
				}
				if k := int(real(of[c])); k >= 0 {
					item[j] = y[(b*items+k)*d+j]
				}
			}
			out = append(append(out, pooled...), item...)
			out = append(append(out, agents[b*d:(b+1)*d]...), all[b*d:(b+1)*d]...)
			out = append(out, z[c*f:(c+1)*f]...)
		}
	}
	return out
}

// Pool returns for each group: mean and maximum of its valid agents, mean and maximum of its valid items, and its features.
func Pool(h, y, z, agentMask, itemMask []complex128, batch, n, items, d, f int) []complex128 {
	var out []complex128
	for b := range batch {
		out = append(append(out, mean(h[b*n*d:(b+1)*n*d], agentMask[b*n:(b+1)*n], n, d)...), largest(h, agentMask, b, n, d)...)
		out = append(append(out, mean(y[b*items*d:(b+1)*items*d], itemMask[b*items:(b+1)*items], items, d)...),
			largest(y, itemMask, b, items, d)...)
		out = append(out, z[b*f:(b+1)*f]...)
	}
	return out
}

// largest returns the maximum of the valid rows of group b, by column, and 0 if there are none.
func largest(x, mask []complex128, b, n, d int) []complex128 {
	out := make([]complex128, d)
	for j := range d {
		found := false
		for i := b * n; i < (b+1)*n; i++ {
			if mask[i] != 0 && (!found || real(x[i*d+j]) > real(out[j])) {
				out[j], found = x[i*d+j], true
			}
		}
	}
	return out
}

// Payoff returns for each coalition sum_r d_r * sum_i sum_j w_i w_j q_ir near_jr, computed term by term.
func Payoff(q, near, d, weights []complex128, batch, n, coalitions int) []complex128 {
	y, rank := make([]complex128, batch*coalitions), len(d)
	for c := range y {
		b := c / coalitions
		for i := range n {
			for j := range n {
				for r := range rank {
					y[c] += d[r] * weights[c*n+i] * weights[c*n+j] * q[(b*n+i)*rank+r] * near[(b*n+j)*rank+r]
				}
			}
		}
	}
	return y
}

// NeighbourSums returns for each row x_i the sum of x_i and its neighbours in adj, within its group of n rows.
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

// MeanOthers returns for each valid row the mean of the other valid rows in its group of n rows, and 0 if there are none.
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
