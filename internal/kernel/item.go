package kernel

// ItemShape is the shape of the hidden layer over all (agent, item) pairs: each of Batch groups has Agents agents and Items
// items; a pair has Features features and Hidden hidden values. Pair (i,k) is row i*Items+k of its group.
type ItemShape struct{ Batch, Agents, Items, Features, Hidden int }

// ItemHidden computes u_ik = relu(a_i + c_k + z_ik*w) with a [B*n,m], c [B*K,m], z [B*n*K,f], w [f,m], u [B*n*K,m].
func ItemHidden[T Float](u, a, c, z, w []T, s ItemShape) {
	m, pairs := s.Hidden, s.Batch*s.Agents*s.Items
	want("item output", u, pairs*m)
	want("item agents", a, s.Batch*s.Agents*m)
	want("item columns", c, s.Batch*s.Items*m)
	for b := range s.Batch {
		for i := range s.Agents {
			ai := a[(b*s.Agents+i)*m:][:m]
			rows := u[(b*s.Agents+i)*s.Items*m:][:s.Items*m]
			cols := c[b*s.Items*m:][:s.Items*m]
			for k := range s.Items {
				row, ck := rows[k*m:(k+1)*m], cols[k*m:(k+1)*m]
				for j, v := range ai {
					row[j] = v + ck[j]
				}
			}
		}
	}
	Gemm(Mat(u, pairs, m), 1, Mat(z, pairs, s.Features), Mat(w, s.Features, m), 1)
	activate(u, ReLU)
}

// ItemHiddenBack computes the gradients of ItemHidden from du [B*n*K,m], the gradient before the rectifier (see
// ActivateBack with ReLU): da, dc, dz and dw in the shapes of a, c, z and w. Nil destinations are skipped; z may then be nil
// without dw, and w without dz.
func ItemHiddenBack[T Float](da, dc, dz, dw, du, z, w []T, s ItemShape) {
	m, pairs := s.Hidden, s.Batch*s.Agents*s.Items
	want("item gradient", du, pairs*m)
	wantOrNil("item agent gradient", da, s.Batch*s.Agents*m)
	wantOrNil("item column gradient", dc, s.Batch*s.Items*m)
	clear(da)
	clear(dc)
	for b := range s.Batch {
		for i := range s.Agents {
			rows := du[(b*s.Agents+i)*s.Items*m:][:s.Items*m]
			if da != nil {
				SumRows(da[(b*s.Agents+i)*m:][:m], rows)
			}
			if dc != nil {
				axpy(dc[b*s.Items*m:][:s.Items*m], 1, rows)
			}
		}
	}
	g := Mat(du, pairs, m)
	if dz != nil {
		Gemm(Mat(dz, pairs, s.Features), 1, g, Mat(w, s.Features, m).T(), 0)
	}
	if dw != nil {
		Gemm(Mat(dw, s.Features, m), 1, Mat(z, pairs, s.Features).T(), g, 0)
	}
}
