package coordgraph

import "github.com/clustergym/clustergym/internal/kernel"

// PayoffShape is the shape of the payoffs of coalitions: each of Batch groups has Agents agents with Rank factors each, and
// Coalitions coalitions among them.
type PayoffShape struct{ Batch, Agents, Coalitions, Rank int }

// PayoffScratch is reusable working memory for one goroutine. Its zero value is ready to use.
type PayoffScratch[T kernel.Float] struct{ p, m, dp, dm []T }

// Payoff computes the payoff of each coalition: the low-rank pairwise payoffs between its members, and between them and their
// neighbours,
//
//	dst_c = sum_r d_r * (sum_i w_ci q_ir) * (sum_i w_ci near_ir)
//
// where q [B*n,Rank] are the agents' factors, near [B*n,Rank] is the sum of each agent's factors and its neighbours' (see
// NeighbourSums), d is [Rank], weights [B,C*n] and dst [B*C].
func Payoff[T kernel.Float](dst, q, near, d, weights []T, s PayoffShape, buf *PayoffScratch[T]) {
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

// PayoffBack computes the gradients of Payoff from dy [B*C]: dq, dnear and dd have the shapes of q, near and d, and must not be
// nil.
func PayoffBack[T kernel.Float](dq, dnear, dd, dy, q, near, d, weights []T, s PayoffShape, buf *PayoffScratch[T]) {
	checkPayoff(dy, q, near, d, weights, s)
	kernel.Want("payoff factor gradient", dq, len(q))
	kernel.Want("payoff neighbour gradient", dnear, len(near))
	kernel.Want("payoff weight gradient", dd, len(d))
	clear(dq)
	clear(dnear)
	clear(dd)
	buf.dp, buf.dm = kernel.Grow(buf.dp, s.Rank), kernel.Grow(buf.dm, s.Rank)
	for at, up := range dy {
		if up == 0 {
			continue
		}
		buf.pool(q, near, weights, at, s)
		for r, v := range d {
			dd[r] += up * buf.p[r] * buf.m[r]
			buf.dp[r], buf.dm[r] = up*v*buf.m[r], up*v*buf.p[r]
		}
		from := at / s.Coalitions * s.Agents
		for i, w := range weights[at*s.Agents:][:s.Agents] {
			if w != 0 {
				kernel.Axpy(dq[(from+i)*s.Rank:][:s.Rank], w, buf.dp)
				kernel.Axpy(dnear[(from+i)*s.Rank:][:s.Rank], w, buf.dm)
			}
		}
	}
}

// pool fills p and m with the weighted sums of q and near over the coalition with index at.
func (buf *PayoffScratch[T]) pool(q, near, weights []T, at int, s PayoffShape) {
	buf.p, buf.m = kernel.Grow(buf.p, s.Rank), kernel.Grow(buf.m, s.Rank)
	clear(buf.p)
	clear(buf.m)
	from := at / s.Coalitions * s.Agents
	for i, w := range weights[at*s.Agents:][:s.Agents] {
		if w != 0 {
			kernel.Axpy(buf.p, w, q[(from+i)*s.Rank:])
			kernel.Axpy(buf.m, w, near[(from+i)*s.Rank:])
		}
	}
}

func checkPayoff[T kernel.Float](dst, q, near, d, weights []T, s PayoffShape) {
	kernel.Want("payoffs", dst, s.Batch*s.Coalitions)
	kernel.Want("payoff factors", q, s.Batch*s.Agents*s.Rank)
	kernel.Want("payoff neighbours", near, s.Batch*s.Agents*s.Rank)
	kernel.Want("payoff weights", d, s.Rank)
	kernel.Want("payoff coalitions", weights, s.Batch*s.Coalitions*s.Agents)
}

// NeighbourSums computes the same as Graph.Sums, from an adjacency matrix and for several groups: within each group, dst_i = x_i
// + the sum over j of adj_ij * x_j. x and dst are [B*n,width]; adj is [B,n*n], normally of ones and zeros.
func NeighbourSums[T kernel.Float](dst, x, adj []T, n, width int) {
	checkNeighbours(dst, x, adj, n, width)
	copy(dst, x)
	eachEdge(adj, n, func(i, j int, a T) {
		kernel.Axpy(dst[i*width:(i+1)*width], a, x[j*width:])
	})
}

// NeighbourSumsBack computes the gradient dx of the input of NeighbourSums from the gradient dy of its output.
func NeighbourSumsBack[T kernel.Float](dx, dy, adj []T, n, width int) {
	checkNeighbours(dx, dy, adj, n, width)
	copy(dx, dy)
	eachEdge(adj, n, func(i, j int, a T) {
		kernel.Axpy(dx[j*width:(j+1)*width], a, dy[i*width:])
	})
}

// eachEdge calls f for the entries of adj other than 0, with row numbers counted over all groups.
func eachEdge[T kernel.Float](adj []T, n int, f func(i, j int, a T)) {
	for i := range len(adj) / max(n, 1) {
		from := i / n * n
		for j, a := range adj[i*n:][:n] {
			if a != 0 {
				f(i, from+j, a)
			}
		}
	}
}

func checkNeighbours[T kernel.Float](y, x, adj []T, n, width int) {
	rows := kernel.RowsOf("neighbour sums", y, width)
	kernel.Want("neighbour input", x, len(y))
	kernel.Want("neighbour adjacency", adj, rows*n)
	if n > 0 && rows%n != 0 {
		kernel.Want("neighbour rows", y, rows/n*n*width)
	}
}
