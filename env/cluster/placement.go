package cluster

// Piece is the part of a gang that runs on one server: a number of workers, each on its own GPU and each holding Amount.
type Piece struct {
	Server  ServerID `log:"server,need,server" snapshot:"server,need,server"`
	Workers int32    `log:"workers,need,1..MaxGPUs" snapshot:"workers,need,1..MaxGPUs"`
	Amount
}

// Placement is where a whole gang runs, with at most one piece per server. The transaction chooses the GPUs of each piece.
type Placement []Piece

// Workers returns the number of workers of the gang.
func (p Placement) Workers() int32 {
	n := int32(0)
	for i := range p {
		n += p[i].Workers
	}
	return n
}

// GPUMilli returns what the gang holds, in thousandths of a GPU.
func (p Placement) GPUMilli() int64 { return p.GPUMilliOn(nil) }

// GPUMilliOn returns what the gang holds on the servers of a set, in thousandths of a GPU. A nil set contains all servers.
func (p Placement) GPUMilliOn(where *ServerSet) (milli int64) {
	for i := range p {
		if where == nil || where.Has(p[i].Server) {
			milli += int64(p[i].Workers) * int64(p[i].GPUMilli)
		}
	}
	return milli
}

// GPUs returns what the gang holds, in GPUs.
func (p Placement) GPUs() float64 { return float64(p.GPUMilli()) / WholeGPU }

// Names returns the names of the servers on which the gang runs, of which the function has the specifications.
func (p Placement) Names(of func(ServerID) *ServerSpec) []string {
	var names []string
	for i := range p {
		names = append(names, of(p[i].Server).Name)
	}
	return names
}
