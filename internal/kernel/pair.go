package kernel

import "math"

// PairShape is the shape of the payoffs between agents: each of Batch groups has Agents agents with Items items each; an
// item has Rank factors, an agent a projection of Width values.
type PairShape struct{ Batch, Agents, Items, Rank, Width int }

// PairScratch is reusable working memory of one goroutine; its zero value is ready.
type PairScratch[T Float] struct{ sent, got, dgot, dsent []T }

// PairBonus computes what the committed items of each agent's neighbours add to its bids:
//
//	bonus_{j,a'} = sum over committed (i,a) of adj_ij * sigmoid(<p_i,p_j>/sqrt(Width)) * sum_r d_r q_{ia,r} q_{ja',r}
//
// with q [B*n*K,Rank], p [B*n,Width], d [Rank], adj [B,n*n], committed [B,n*K] and dst [B,n*K]. The sum over a factors out
// of that over r, so the cost grows with the edges of committing agents, not with pairs of items. adj and committed are
// data, normally 0 or 1; the diagonal of adj should be 0.
func PairBonus[T Float](dst, q, p, d, adj, committed []T, s PairShape, buf *PairScratch[T]) {
	checkPair(dst, q, p, d, adj, committed, s)
	for b := range s.Batch {
		g := groupOf(b, q, p, adj, committed, s)
		buf.receive(g, s)
		for j := range s.Agents {
			got := buf.got[j*s.Rank : (j+1)*s.Rank]
			for r := range got {
				got[r] *= d[r]
			}
			for k := range s.Items {
				at := j*s.Items + k
				dst[b*s.Agents*s.Items+at] = dot(got, g.q[at*s.Rank:(at+1)*s.Rank])
			}
		}
	}
}

// PairBonusBack computes the gradients of PairBonus from dy [B,n*K]: dq, dp and dd in the shapes of q, p and d, all of which
// are wanted.
func PairBonusBack[T Float](dq, dp, dd, dy, q, p, d, adj, committed []T, s PairShape, buf *PairScratch[T]) {
	checkPair(dy, q, p, d, adj, committed, s)
	want("pair item gradient", dq, len(q))
	want("pair projection gradient", dp, len(p))
	want("pair weight gradient", dd, len(d))
	clear(dq)
	clear(dp)
	clear(dd)
	n, rank := s.Agents, s.Rank
	buf.dgot, buf.dsent = grow(buf.dgot, n*rank), grow(buf.dsent, n*rank)
	for b := range s.Batch {
		g := groupOf(b, q, p, adj, committed, s)
		dqb := dq[b*n*s.Items*rank:][:n*s.Items*rank]
		buf.receive(g, s)
		clear(buf.dgot)
		clear(buf.dsent)
		for j := range n {
			got, dgot := buf.got[j*rank:(j+1)*rank], buf.dgot[j*rank:(j+1)*rank]
			for k := range s.Items {
				at := j*s.Items + k
				up := dy[b*n*s.Items+at]
				if up == 0 {
					continue
				}
				qr, dqr := g.q[at*rank:(at+1)*rank], dqb[at*rank:(at+1)*rank]
				for r, v := range qr {
					dgot[r] += up * v
					dqr[r] += up * d[r] * got[r]
				}
			}
			for r := range dgot {
				dd[r] += dgot[r] * got[r]
				dgot[r] *= d[r]
			}
		}
		buf.sendBack(dp[b*n*s.Width:][:n*s.Width], g, s)
		for at, c := range g.committed {
			if c != 0 {
				axpy(dqb[at*rank:(at+1)*rank], c, buf.dsent[at/s.Items*rank:][:rank])
			}
		}
	}
}

// pairGroup is one group's part of the inputs.
type pairGroup[T Float] struct{ q, p, adj, committed []T }

func groupOf[T Float](b int, q, p, adj, committed []T, s PairShape) pairGroup[T] {
	n, items := s.Agents, s.Agents*s.Items
	return pairGroup[T]{
		q:         q[b*items*s.Rank:][:items*s.Rank],
		p:         p[b*n*s.Width:][:n*s.Width],
		adj:       adj[b*n*n:][:n*n],
		committed: committed[b*items:][:items],
	}
}

// gate returns the weight of the edge between agents i and j.
func (g pairGroup[T]) gate(i, j, width int) T {
	return Sigmoid(dot(g.p[i*width:(i+1)*width], g.p[j*width:(j+1)*width]) * T(1/math.Sqrt(float64(width))))
}

// receive fills sent with the sum of each agent's committed factors and got with the gated sum over its neighbours. It
// leaves out agents that committed nothing.
func (buf *PairScratch[T]) receive(g pairGroup[T], s PairShape) {
	n, rank := s.Agents, s.Rank
	buf.sent, buf.got = grow(buf.sent, n*rank), grow(buf.got, n*rank)
	clear(buf.sent)
	clear(buf.got)
	for i := range n {
		if !g.commits(i, s.Items) {
			continue
		}
		sent := buf.sent[i*rank : (i+1)*rank]
		for at := i * s.Items; at < (i+1)*s.Items; at++ {
			if c := g.committed[at]; c != 0 {
				axpy(sent, c, g.q[at*rank:(at+1)*rank])
			}
		}
		for j, a := range g.adj[i*n : (i+1)*n] {
			if a != 0 {
				axpy(buf.got[j*rank:(j+1)*rank], a*g.gate(i, j, s.Width), sent)
			}
		}
	}
}

// commits reports whether agent i committed anything; what others would have sent reaches no bid.
func (g pairGroup[T]) commits(i, items int) bool {
	for _, c := range g.committed[i*items : (i+1)*items] {
		if c != 0 {
			return true
		}
	}
	return false
}

// sendBack carries dgot, the gradient of what the agents got, over the edges: to dsent, that of what was sent, and through
// the gates to the projections dp of the group.
func (buf *PairScratch[T]) sendBack(dp []T, g pairGroup[T], s PairShape) {
	n, rank, width := s.Agents, s.Rank, s.Width
	scale := T(1 / math.Sqrt(float64(width)))
	for i := range n {
		if !g.commits(i, s.Items) {
			continue
		}
		sent, dsent := buf.sent[i*rank:(i+1)*rank], buf.dsent[i*rank:(i+1)*rank]
		for j, a := range g.adj[i*n : (i+1)*n] {
			if a == 0 {
				continue
			}
			dgot := buf.dgot[j*rank : (j+1)*rank]
			gate := g.gate(i, j, width)
			axpy(dsent, a*gate, dgot)
			dscore := a * dot(dgot, sent) * gate * (1 - gate) * scale
			axpy(dp[i*width:(i+1)*width], dscore, g.p[j*width:(j+1)*width])
			axpy(dp[j*width:(j+1)*width], dscore, g.p[i*width:(i+1)*width])
		}
	}
}

func checkPair[T Float](bids, q, p, d, adj, committed []T, s PairShape) {
	items := s.Batch * s.Agents * s.Items
	want("pair bids", bids, items)
	want("pair items", q, items*s.Rank)
	want("pair projections", p, s.Batch*s.Agents*s.Width)
	want("pair weights", d, s.Rank)
	want("pair adjacency", adj, s.Batch*s.Agents*s.Agents)
	want("pair commitments", committed, items)
}
