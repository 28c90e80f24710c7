package sim

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

var headerFields = []string{
	"format", "version", "scheduler", "physics", "restart", "horizon", "jobs", "servers",
	"grace", "per_gpu", "quotas", "outages", "demand", "warm",
}

const headerNeeds = 0b11111111

func (p *parser) header() error {
	s, c := &p.scan, &p.log.Config
	seen, name := uint32(0), ""
	s.expect('{', "header")
	for n := 0; s.more('}', n, "header"); n++ {
		switch s.key(headerFields, &seen) {
		case 0:
			if f := s.text("format"); f != logFormat {
				s.bad("format", strconv.Quote(f), strconv.Quote(logFormat))
			}
		case 1:
			s.number("version", logVersion, logVersion)
		case 2:
			p.log.Scheduler = s.text("scheduler")
		case 3:
			name = s.text("physics")
		case 4:
			c.Restart = s.restart()
		case 5:
			c.Horizon = s.duration("horizon")
		case 6:
			p.count = int(s.number("jobs", 0, maxLogJobs))
		case 7:
			c.Cluster.Servers = p.servers()
		case 8:
			c.Grace = s.duration("grace")
		case 9:
			c.Cluster.PerGPU = int32(s.number("per_gpu", 0, cluster.WholeGPU))
		case 10:
			c.Cluster.Quotas = s.quotas()
		case 11:
			s.rows("outages", 4, func(v []int64) {
				c.Outages = append(c.Outages, Outage{
					time.Duration(v[0]), time.Duration(v[1]), cluster.ServerID(v[2]), int32(v[3]),
				})
			})
		case 12:
			s.rows("demand", 3, func(v []int64) {
				c.Demand = append(c.Demand, Demand{time.Duration(v[0]), v[1], int32(v[2])})
			})
		case 13:
			c.Warm = int(s.number("warm", 0, maxLogJobs))
		}
	}
	s.end()
	s.require(headerFields, seen, headerNeeds)
	if c.Warm > p.count {
		s.bad("warm", strconv.Itoa(c.Warm), fmt.Sprintf("at most the %d jobs of the header", p.count))
	}
	if s.err != nil {
		return s.err
	}
	var err error
	if c.Physics, err = physics.Parse(name); err != nil {
		return err
	}
	if err := c.Cluster.Validate(); err != nil {
		return err
	}
	return c.validate()
}

func (s *scanner) duration(field string) time.Duration {
	return time.Duration(s.number(field, 0, int64(maxTime)))
}

// object reads an object: take is called for each field with its place in names. It must have those in need; seen are those
// that it has.
func (s *scanner) object(field string, names []string, need uint32, take func(field int)) (seen uint32) {
	s.expect('{', field)
	for n := 0; s.more('}', n, field); n++ {
		take(s.key(names, &seen))
	}
	s.require(names, seen, need)
	return seen
}

var restartFields = []string{"preempt", "migrate", "resize", "from_scratch", "interval", "save"}

func (s *scanner) restart() (r Restart) {
	s.object("restart", restartFields, 1<<len(restartFields)-1, func(field int) {
		switch field {
		case 0:
			r.Preempt = s.duration("preempt")
		case 1:
			r.Migrate = s.duration("migrate")
		case 2:
			r.Resize = s.duration("resize")
		case 3:
			r.FromScratch = s.flag("from_scratch")
		case 4:
			r.Interval = s.duration("interval")
		case 5:
			r.Save = s.duration("save")
		}
	})
	return r
}

var quotaFields = []string{"tenant", "gpus"}

func (s *scanner) quotas() (all []cluster.Quota) {
	s.expect('[', "quotas")
	for n := 0; s.more(']', n, "quotas"); n++ {
		var q cluster.Quota
		s.object("quotas", quotaFields, 0b11, func(field int) {
			switch field {
			case 0:
				q.Tenant = s.text("tenant")
			case 1:
				q.GPUs = int32(s.number("gpus", 0, math.MaxInt32))
			}
		})
		all = append(all, q)
	}
	return all
}

// rows reads a list of lists of so many whole numbers each.
func (s *scanner) rows(field string, width int, take func(v []int64)) {
	v := make([]int64, width)
	s.expect('[', field)
	for n := 0; s.more(']', n, field); n++ {
		s.expect('[', field)
		i := 0
		for ; s.more(']', i, field); i++ {
			if x := s.number(field, -1, math.MaxInt64); i < width {
				v[i] = x
			}
		}
		if i != width {
			s.bad(field, strconv.Itoa(i)+" numbers", strconv.Itoa(width)+" in each row")
		}
		if s.err != nil {
			return
		}
		for _, x := range v[2:] {
			if x > math.MaxInt32 {
				s.bad(field, strconv.FormatInt(x, 10), "a number of 32 bits")
			}
		}
		take(v)
	}
}

// require reports the first of the needed fields that is missing.
func (s *scanner) require(names []string, seen, need uint32) {
	if missing := need &^ seen; missing != 0 {
		s.bad(names[bits.TrailingZeros32(missing)], "", "this field")
	}
}

var serverFields = []string{
	"name", "gpus", "cpu_milli", "mem_mib", "pool", "from", "count", "gpu_type", "gpu_mem_mib", "rack",
}

func (p *parser) servers() (all []cluster.ServerSpec) {
	s := &p.scan
	s.expect('[', "servers")
	for n := 0; s.more(']', n, "servers"); n++ {
		s.path = fmt.Sprintf("servers[%d].", n)
		var v cluster.ServerSpec
		from, count := 0, 1
		seen := s.object("", serverFields, 0b11111, func(field int) {
			switch field {
			case 0:
				v.Name = s.text("name")
			case 1:
				v.GPUs = int32(s.number("gpus", 0, cluster.MaxGPUs))
			case 2:
				v.CPUMilli = s.limit("cpu_milli")
			case 3:
				v.MemMiB = s.limit("mem_mib")
			case 4:
				v.Pool = s.pool()
			case 5:
				from = int(s.number("from", 0, 1<<30))
			case 6:
				count = int(s.number("count", 2, cluster.MaxServers))
			case 7:
				v.GPUType = s.text("gpu_type")
			case 8:
				v.GPUMemMiB = int32(s.number("gpu_mem_mib", 0, math.MaxInt32))
			case 9:
				v.Rack = int32(s.number("rack", 0, cluster.MaxRacks))
			}
		})
		if grouped := seen >> 5 & 0b11; grouped != 0 {
			s.require(serverFields, seen, 0b1111111)
		}
		if len(all)+count > cluster.MaxServers {
			s.bad("count", strconv.Itoa(count), fmt.Sprintf("at most %d servers in all", cluster.MaxServers))
		}
		if s.path = ""; s.err != nil {
			return nil
		}
		for i, name := 0, v.Name; i < count; i++ {
			if count > 1 {
				v.Name = name + strconv.Itoa(from+i)
			}
			all = append(all, v)
		}
	}
	return all
}

// limit is a whole number, or null for cluster.Unlimited.
func (s *scanner) limit(field string) int64 {
	if s.null() {
		return cluster.Unlimited
	}
	return s.number(field, 0, cluster.Unlimited-1)
}

func (s *scanner) pool() cluster.Pool {
	switch name := s.text("pool"); name {
	case cluster.Training.String():
		return cluster.Training
	case cluster.Inference.String():
		return cluster.Inference
	default:
		s.bad("pool", strconv.Quote(name), "training or inference")
		return 0
	}
}
