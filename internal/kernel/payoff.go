package kernel

// PayoffShape is the shape of the payoffs within coalitions: each of Batch groups has Servers, each with Rank factors, and
// Offers.
type PayoffShape struct{ Batch, Servers, Offers, Rank int }

// PayoffScratch is reusable working memory of one goroutine; its zero value is ready.
type PayoffScratch[T Float] struct{ p, m, dp, dm []T }

// Payoff computes what the members of each offer's coalition are worth to each other and to their neighbours,
//
//	dst_o = sum_r d_r * (sum_i w_oi q_ir) * (sum_i w_oi near_ir)
//
// with factors q [B*n,Rank], the sums near [B*n,Rank] of a server's factors and its neighbours' (see NeighbourSums), d
// [Rank], weights [B,O*n] and dst [B*O].
func Payoff[T Float](dst, q, near, d, weights []T, s PayoffShape, buf *PayoffScratch[T]) {
	checkPayoff(dst, q, near, d, weights, s)
	for at := range dst {
		buf.pool(q, near, weights, at, s)
		var sum T
		for r, v := range d {
			sum += v * buf.p[r] * buf.m[r]
		}
		dst[at] = sum
	}
}

// PayoffBack computes the gradients of Payoff from dy [B*O]: dq, dnear and dd in the shapes of q, near and d, all of which
// are wanted.
func PayoffBack[T Float](dq, dnear, dd, dy, q, near, d, weights []T, s PayoffShape, buf *PayoffScratch[T]) {
	checkPayoff(dy, q, near, d, weights, s)
	want("payoff factor gradient", dq, len(q))
	want("payoff neighbour gradient", dnear, len(near))
	want("payoff weight gradient", dd, len(d))
	clear(dq)
	clear(dnear)
	clear(dd)
	buf.dp, buf.dm = grow(buf.dp, s.Rank), grow(buf.dm, s.Rank)
	for at, up := range dy {
		if up == 0 {
			continue
		}
		buf.pool(q, near, weights, at, s)
		for r, v := range d {
			dd[r] += up * buf.p[r] * buf.m[r]
			buf.dp[r], buf.dm[r] = up*v*buf.m[r], up*v*buf.p[r]
		}
		from := at / s.Offers * s.Servers
		for i, w := range weights[at*s.Servers:][:s.Servers] {
			if w != 0 {
				axpy(dq[(from+i)*s.Rank:][:s.Rank], w, buf.dp)
				axpy(dnear[(from+i)*s.Rank:][:s.Rank], w, buf.dm)
			}
		}
	}
}

// pool fills p and m with the weighted sums over the coalition of the offer at.
func (buf *PayoffScratch[T]) pool(q, near, weights []T, at int, s PayoffShape) {
	buf.p, buf.m = grow(buf.p, s.Rank), grow(buf.m, s.Rank)
	clear(buf.p)
	clear(buf.m)
	from := at / s.Offers * s.Servers
	for i, w := range weights[at*s.Servers:][:s.Servers] {
		if w != 0 {
			axpy(buf.p, w, q[(from+i)*s.Rank:])
			axpy(buf.m, w, near[(from+i)*s.Rank:])
		}
	}
}

func checkPayoff[T Float](dst, q, near, d, weights []T, s PayoffShape) {
	want("payoffs", dst, s.Batch*s.Offers)
	want("payoff factors", q, s.Batch*s.Servers*s.Rank)
	want("payoff neighbours", near, s.Batch*s.Servers*s.Rank)
	want("payoff weights", d, s.Rank)
	want("payoff coalitions", weights, s.Batch*s.Offers*s.Servers)
}

// NeighbourSums computes dst_i = x_i + sum over j of adj_ij * x_j within each group, with x and dst [B*n,width] and adj
// [B,n*n], normally of ones and zeros.
func NeighbourSums[T Float](dst, x, adj []T, n, width int) {
	checkNeighbours(dst, x, adj, n, width)
	copy(dst, x)
	eachEdge(adj, n, func(i, j int, a T) {
		axpy(dst[i*width:(i+1)*width], a, x[j*width:])
	})
}

// NeighbourSumsBack computes the gradient dx of the input of NeighbourSums from dy.
func NeighbourSumsBack[T Float](dx, dy, adj []T, n, width int) {
	checkNeighbours(dx, dy, adj, n, width)
	copy(dx, dy)
	eachEdge(adj, n, func(i, j int, a T) {
		axpy(dx[j*width:(j+1)*width], a, dy[i*width:])
	})
}

// eachEdge calls f for the entries of adj that are not 0, with rows counted over all groups.
func eachEdge[T Float](adj []T, n int, f func(i, j int, a T)) {
	for i := range len(adj) / max(n, 1) {
		from := i / n * n
		for j, a := range adj[i*n:][:n] {
			if a != 0 {
				f(i, from+j, a)
			}
		}
	}
}

func checkNeighbours[T Float](y, x, adj []T, n, width int) {
	rows := rowsOf("neighbour sums", y, width)
	want("neighbour input", x, len(y))
	want("neighbour adjacency", adj, rows*n)
	if n > 0 && rows%n != 0 {
		want("neighbour rows", y, rows/n*n*width)
	}
}

// MeanOthers computes for each valid row of a group the mean of the group's other valid rows, and zeros for a row that is
// alone or not valid: x and dst [B*n,d], mask [B*n]. It is symmetric: applied to the gradient of dst it gives that of x.
func MeanOthers[T Float](dst, x, mask []T, n, d int) {
	rows := rowsOf("mean of others", dst, d)
	want("mean of others' input", x, len(dst))
	want("mean of others' mask", mask, rows)
	clear(dst)
	for from := 0; from < rows; from += n {
		m := mask[from : from+n]
		count := T(0)
		for _, valid := range m {
			if valid != 0 {
				count++
			}
		}
		if count < 2 {
			continue
		}
		for j := range d {
			var sum T
			for i, valid := range m {
				if valid != 0 {
					sum += x[(from+i)*d+j]
				}
			}
			for i, valid := range m {
				if valid != 0 {
					dst[(from+i)*d+j] = (sum - x[(from+i)*d+j]) / (count - 1)
				}
			}
		}
	}
}
