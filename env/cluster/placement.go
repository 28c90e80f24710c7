package cluster

// Piece is the part of a gang that runs on one server: Workers workers, each on a GPU of its own and each holding Amount.
type Piece struct {
	Server  ServerID
	Workers int32
	Amount
}

// Placement is a whole gang: at most one piece a server. The transaction chooses which GPUs of a server a piece gets.
type Placement []Piece

// Workers counts the gang.
func (p Placement) Workers() int32 {
	n := int32(0)
	for i := range p {
		n += p[i].Workers
	}
	return n
}

// GPUMilli is what the gang holds, in thousandths of a GPU.
func (p Placement) GPUMilli() int64 {
	milli := int64(0)
	for i := range p {
		milli += int64(p[i].Workers) * int64(p[i].GPUMilli)
	}
	return milli
}

// GPUs is what the gang holds, in GPUs.
func (p Placement) GPUs() float64 { return float64(p.GPUMilli()) / WholeGPU }
