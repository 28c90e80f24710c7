package kernel

import "fmt"

// OfferShape is the shape of what describes offers: each of Batch groups has Servers and Jobs, whose embeddings are Width
// wide, and Offers with Features of their own.
type OfferShape struct{ Batch, Servers, Jobs, Offers, Width, Features int }

// Row is the width of a row of OfferRows: its coalition, its job, all servers, all jobs, its own features.
func (s OfferShape) Row() int { return 4*s.Width + s.Features }

// OfferData says what the offers are about. It is data and has no gradient.
type OfferData[T Float] struct {
	Features   []T // [B*O,f]
	Weights    []T // [B,O*n] share of each server in an offer's coalition, 0 outside it
	Of         []T // [B*O] row of the offer's job in its group, less than 0 for none
	ServerMask []T // [B*n]
	JobMask    []T // [B*K]
}

func (s OfferShape) check() {
	if s.Batch < 0 || s.Servers < 0 || s.Jobs < 0 || s.Offers < 0 || s.Width <= 0 || s.Features < 0 {
		panic(fmt.Sprintf("kernel: offer shape %+v: want a positive width and no negative number", s))
	}
}

func checkOffers[T Float](rows, h, y []T, in *OfferData[T], s OfferShape) {
	s.check()
	want("offer rows", rows, s.Batch*s.Offers*s.Row())
	want("offer servers", h, s.Batch*s.Servers*s.Width)
	want("offer jobs", y, s.Batch*s.Jobs*s.Width)
	want("offer weights", in.Weights, s.Batch*s.Offers*s.Servers)
	want("offer jobs' rows", in.Of, s.Batch*s.Offers)
	want("offer server mask", in.ServerMask, s.Batch*s.Servers)
	want("offer job mask", in.JobMask, s.Batch*s.Jobs)
}

// OfferRows joins for each offer what is known of it into a row of dst [B*O,Row()]: the weighted sum of its coalition's
// rows of h [B*n,d], its job's row of y [B*K,d] or zeros, the means of all valid rows of h and of y, and its own features.
// Weights are mostly 0, and zeros cost next to nothing.
func OfferRows[T Float](dst, h, y []T, in OfferData[T], s OfferShape) {
	checkOffers(dst, h, y, &in, s)
	want("offer features", in.Features, s.Batch*s.Offers*s.Features)
	d, f, n, jobs := s.Width, s.Features, s.Servers, s.Jobs
	for b := range s.Batch {
		hb, yb := h[b*n*d:][:n*d], y[b*jobs*d:][:jobs*d]
		var first []T
		for o := range s.Offers {
			at := b*s.Offers + o
			row := dst[at*s.Row():][:s.Row()]
			clear(row[:2*d])
			for i, w := range in.Weights[at*n:][:n] {
				if w != 0 {
					axpy(row[:d], w, hb[i*d:])
				}
			}
			if k := int(in.Of[at]); k >= 0 {
				copy(row[d:2*d], yb[k*d:])
			}
			if o == 0 {
				first = row
				MeanPool(row[2*d:3*d], hb, in.ServerMask[b*n:][:n], n, d)
				MeanPool(row[3*d:4*d], yb, in.JobMask[b*jobs:][:jobs], jobs, d)
			} else {
				copy(row[2*d:4*d], first[2*d:])
			}
			copy(row[4*d:], in.Features[at*f:][:f])
		}
	}
}

// OfferRowsBack computes the gradients dh and dy of h and y from dx [B*O,Row()], both of which are wanted. It does not read
// the features.
func OfferRowsBack[T Float](dh, dy, dx []T, in OfferData[T], s OfferShape) {
	checkOffers(dx, dh, dy, &in, s)
	d, n, jobs := s.Width, s.Servers, s.Jobs
	clear(dh)
	clear(dy)
	for b := range s.Batch {
		hb, yb := dh[b*n*d:][:n*d], dy[b*jobs*d:][:jobs*d]
		servers, waiting := in.ServerMask[b*n:][:n], in.JobMask[b*jobs:][:jobs]
		for o := range s.Offers {
			at := b*s.Offers + o
			g := dx[at*s.Row():][:s.Row()]
			for i, w := range in.Weights[at*n:][:n] {
				if w != 0 {
					axpy(hb[i*d:(i+1)*d], w, g[:d])
				}
			}
			if k := int(in.Of[at]); k >= 0 {
				axpy(yb[k*d:(k+1)*d], 1, g[d:2*d])
			}
		}
		meanBack(hb, dx, servers, b, 2*d, s)
		meanBack(yb, dx, waiting, b, 3*d, s)
	}
}

// meanBack adds to the valid rows of dst what the offers of group b say of their mean, in the columns from the given one on.
func meanBack[T Float](dst, dx, mask []T, b, from int, s OfferShape) {
	d, scale := s.Width, inverseCount(mask)
	for j := range d {
		var sum T
		for o := range s.Offers {
			sum += dx[(b*s.Offers+o)*s.Row()+from+j]
		}
		if sum == 0 {
			continue
		}
		sum *= scale
		for i, valid := range mask {
			if valid != 0 {
				dst[i*d+j] += sum
			}
		}
	}
}
