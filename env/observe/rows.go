package observe

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// shown is what the rows need to know about a job.
type shown struct {
	left  time.Duration
	known bool
	kind  *kind // nil if the state has no profile of speeds
}

func (e *Standard) observeServers(rows []float32, width int) {
	clear(rows)
	for i := range len(rows) / width {
		id, row := cluster.ServerID(i), rows[i*width:]
		e.observeServer(id, row)
		if e.Uncertainty {
			e.uncertainty.observeServer(id, row[len(serverFeatures):])
		}
	}
}

func (e *Standard) observeServer(id cluster.ServerID, row []float32) {
	s, o := e.outlook.state, &e.outlook
	v := s.Server(id)
	if v.GPUs == 0 || !s.Open(id) {
		return
	}
	p, gpus := &o.servers[id], o.of(id)
	residents := int64(len(s.Residents(id)))
	row[serverGPUs] = float32(v.GPUs) / float32(o.most)
	row[serverFree] = float32(s.FreeGPUs(id)) / float32(v.GPUs)
	row[serverFreeCPU] = ratio(s.FreeCPU(id), v.CPUMilli)
	row[serverFreeMem] = ratio(s.FreeMem(id), v.MemMiB)
	row[serverResidents] = min(float32(residents)/float32(v.GPUs), 2)
	if p.last > 0 {
		row[serverNextEnd], row[serverLastEnd] = logTime(p.next), logTime(p.last)
		row[serverMeanEnd] = float32(float64(p.logs) / float64(p.known) / logUnit)
	}
	row[serverBlind] = ratio(int64(p.blind), residents)
	row[serverHalfFree] = logTime(gpus[(v.GPUs-1)/2])
	row[serverFreedSoon] = float32(p.freedSoon) / float32(v.GPUs)
	row[serverFreedLater] = float32(p.freedLater) / float32(v.GPUs)
	row[serverEmpty] = flag(residents == 0)
	row[serverShared] = float32(s.Shared(id)) / float32(v.GPUs)
	row[serverGuestRoom] = float32(p.guestRoom) / float32(v.GPUs)
	row[serverGPUSpeed] = e.typeSpeed[s.TypeOf(id)]
	if r := &o.racks[v.Rack]; v.Rack > 0 {
		row[serverRackFree] = float32(r.free) / float32(r.gpus)
		row[serverUplink] = float32(min(s.CrossingNICs(v.Rack)/float64(r.servers), 1))
	}
	if s.OnLoan(id) {
		row[serverOnLoan] = 1
		if owed, deadline := s.Owed(); owed > 0 {
			row[serverDue] = 1 - logTime(deadline-s.Now())
		}
	}
}

func (e *Standard) observeJob(k int, id cluster.JobID, row []float32) {
	s, h, d, j := e.outlook.state, &e.head, &e.demand, &e.shown[k]
	spec := s.Spec(id)
	gpus := spec.GPUs()
	row[jobPresent] = 1
	if j.known {
		row[jobRemaining] = logTime(j.left)
		row[jobService] = logTime(time.Duration(float64(j.left) * gpus))
		if h.there {
			row[jobBehindHead], row[jobOverstays] = against(j.left, h.left), against(j.left, h.wait)
		}
	}
	row[jobEstimated] = flag(j.known)
	row[jobAge] = logTime(s.Now() - spec.Submit)
	row[jobWorkers] = min(float32(spec.Workers)/float32(e.outlook.most), 2)
	row[jobLogWorkers] = float32(min(math.Log2(float64(spec.Workers))/10, 1))
	row[jobGPUShare] = float32(spec.Request.GPUMilli) / cluster.WholeGPU
	row[jobDemand] = float32(min(gpus/max(float64(s.FreeTotal()), 0.5), 2))
	row[jobAttained] = logTime(s.Attained(id))
	row[jobStartable] = flag(e.startable(id))
	row[jobRestarts] = min(float32(s.Starts(id))/4, 1)
	row[jobRank] = ratio(int64(e.rank[k]), int64(d.all))
	row[jobTurn] = ratio(int64(e.turn[k]), int64(d.all))
	row[jobAlike] = ratio(int64(d.jobs[class(spec.Workers, e.outlook.most)]), int64(d.all))
	row[jobShrinks] = 1 - float32(spec.Least())/float32(spec.Workers)
	row[jobGrows] = 1 - float32(spec.Workers)/float32(spec.Most())
	if j.kind != nil {
		row[jobHalfGPU], row[jobHalfCPU] = j.kind.halfGPU, j.kind.halfCPU
	}
	if left, ok := s.QuotaLeft(id); ok {
		row[jobQuotaUsed] = 1 - ratio(max(left, 0), s.Quota(id))
	}
	e.observeRoom(id, spec, row)
}

// observeRoom fills the features of a job that describe where it could run.
func (e *Standard) observeRoom(id cluster.JobID, spec *cluster.JobSpec, row []float32) {
	s, t := e.outlook.state, &e.outlook.total
	types, gpus := s.TypesFor(id), int64(0)
	for i, n := range t.ofType {
		if types>>i&1 == 1 {
			gpus += n
		}
	}
	row[jobTypes] = ratio(gpus, t.gpus)
	alone := e.fits.of(id, spec.Request).alone
	row[jobHosts] = ratio(int64(alone), int64(t.servers))
	if alone == 0 {
		row[jobHole] = logTime(e.outlook.until(spec.Workers, types))
	}
}

func (e *Standard) observeGlobal(window []cluster.JobID, row []float32) {
	s, h, t, d := e.outlook.state, &e.head, &e.outlook.total, &e.demand
	largest := int32(0)
	for _, id := range window {
		if id >= 0 {
			largest = max(largest, s.Spec(id).Workers)
		}
	}
	most := float32(max(e.outlook.most, 1))
	free := s.FreeTotal()
	row[globalBusy] = ratio(t.gpus-free, t.gpus)
	row[globalQueue] = float32(min(math.Log10(1+float64(len(s.Pending())))/4, 1))
	backlog, recent, all := int64(0), int64(0), t.gpus*cluster.WholeGPU
	for c := range classes {
		backlog += d.waiting[c]
		recent += d.recent[c]
		row[globalDemand+c], row[globalRecent+c] = logShare(d.waiting[c], all), logShare(d.recent[c], all)
	}
	row[globalBacklog] = logShare(backlog, all)
	row[globalReady] = float32(len(e.ready)) / float32(len(window))
	row[globalHole] = float32(t.hole) / most
	row[globalLargest] = min(float32(largest)/most, 2)
	if h.there {
		row[globalHead], row[globalHeadWait], row[globalHeadLacks] = 1, logTime(h.wait), h.lacks
	}
	sin, cos := math.Sincos(2 * math.Pi * float64(s.Now()%day) / float64(day))
	row[globalDaySin], row[globalDayCos] = float32(sin), float32(cos)
	if d.foresee && t.gpus > 0 {
		few := float64(all) / 100 // keeps the ratio of two small numbers from becoming large
		row[globalInflow] = tanh(float32(math.Log((float64(recent) + few) / (float64(t.freedLater*cluster.WholeGPU) + few))))
	}
	row[globalWhole] = ratio(int64(t.whole), int64(t.servers))
	row[globalWholeSoon] = ratio(int64(t.wholeSoon), int64(t.servers))
	row[globalWholeLater] = ratio(int64(t.wholeLater), int64(t.servers))
	row[globalFragments] = ratio(free-t.freeOnWhole, free)
	owed, _ := s.Owed()
	row[globalOwed] = ratio(int64(owed), int64(s.Lent()))
}
