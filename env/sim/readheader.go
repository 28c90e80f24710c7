package sim

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/strictjson"
)

var headerFields = []string{
	"format", "version", "scheduler", "physics", "restart", "horizon", "jobs", "servers",
	"grace", "per_gpu", "quotas", "outages", "demand", "warm", "readings",
	"hidden", "phases", "no_preemption",
}

const headerNeeds = 0b11111111

func (p *parser) header() error {
	r, c, name := p.r, &p.log.Config, ""
	r.Object(headerFields, headerNeeds, func(field int) {
		switch headerFields[field] {
		case "format":
			r.OneOf(logFormat)
		case "version":
			r.Number(logVersion, logVersion)
		case "scheduler":
			p.log.Scheduler = p.text()
		case "physics":
			name = p.text()
		case "restart":
			c.Restart = p.restart()
		case "horizon":
			c.Horizon = p.duration(maxTime)
		case "jobs":
			p.count = int(r.Number(0, maxLogJobs))
		case "servers":
			c.Cluster.Servers = p.servers()
		case "grace":
			c.Grace = p.duration(maxTime)
		case "per_gpu":
			c.Cluster.PerGPU = int32(r.Number(0, cluster.WholeGPU))
		case "no_preemption":
			c.Cluster.NoPreemption = p.r.Flag()
		case "quotas":
			c.Cluster.Quotas = p.quotas()
		case "outages":
			p.rows(4, func(v []int64) {
				c.Outages = append(c.Outages, Outage{
					time.Duration(v[0]), time.Duration(v[1]), cluster.ServerID(v[2]), int32(v[3]),
				})
			})
		case "demand":
			p.rows(3, func(v []int64) {
				c.Demand = append(c.Demand, Demand{time.Duration(v[0]), v[1], int32(v[2])})
			})
		case "warm":
			c.Warm = int(r.Number(0, maxLogJobs))
		case "readings":
			c.Readings = p.readings()
		case "phases":
			c.Phases = p.phases()
		case "hidden":
			c.Hidden = p.hidden()
		}
	})
	r.End()
	if c.Warm > p.count {
		r.Bad("warm", strconv.Itoa(c.Warm), fmt.Sprintf("at most the %d jobs of the header", p.count))
	}
	if err := r.Err(); err != nil {
		return err
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

var restartFields = []string{"preempt", "migrate", "resize", "from_scratch", "interval", "save"}

func (p *parser) restart() (v Restart) {
	times := [...]*time.Duration{&v.Preempt, &v.Migrate, &v.Resize, nil, &v.Interval, &v.Save}
	p.r.Object(restartFields, 1<<len(restartFields)-1, func(field int) {
		if times[field] == nil {
			v.FromScratch = p.r.Flag()
			return
		}
		*times[field] = p.duration(maxTime)
	})
	return v
}

var readingFields = []string{"interval", "noise", "seed"}

func (p *parser) readings() (v Readings) {
	r := p.r
	r.Object(readingFields, 1<<len(readingFields)-1, func(field int) {
		switch readingFields[field] {
		case "interval":
			v.Interval = time.Duration(r.Number(1, int64(maxTime)))
		case "noise":
			v.Noise = r.Float(0, MaxNoise)
		case "seed":
			v.Seed = p.seed()
		}
	})
	return v
}

var phaseFields = []string{"every", "slowest", "seed"}

func (p *parser) phases() (v Phases) {
	r := p.r
	r.Object(phaseFields, 1<<len(phaseFields)-1, func(field int) {
		switch phaseFields[field] {
		case "every":
			v.Every = time.Duration(r.Number(1, int64(maxTime)))
		case "slowest":
			v.Slowest = r.Positive()
		case "seed":
			v.Seed = p.seed()
		}
	})
	return v
}

// seed reads a whole number of 64 bits.
func (p *parser) seed() uint64 {
	n, err := strconv.ParseUint(string(p.r.Numeral()), 10, 64)
	if err != nil {
		p.r.Refuse(fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64)))
	}
	return n
}

var hiddenFields = []string{"speeds", "models"}

func (p *parser) hidden() (v Hidden) {
	p.r.Object(hiddenFields, 1<<len(hiddenFields)-1, func(field int) {
		switch hiddenFields[field] {
		case "speeds":
			v.Speeds = p.r.Flag()
		case "models":
			v.Models = []Naming{FullName, Domain, NoName}[p.r.OneOf(string(FullName), string(Domain), string(NoName))]
		}
	})
	return v
}

var quotaFields = []string{"tenant", "gpus"}

func (p *parser) quotas() (all []cluster.Quota) {
	p.r.List(maxLogLine, func(int) {
		var q cluster.Quota
		p.r.Object(quotaFields, 0b11, func(field int) {
			switch quotaFields[field] {
			case "tenant":
				q.Tenant = p.text()
			case "gpus":
				q.GPUs = p.r.Count(0)
			}
		})
		all = append(all, q)
	})
	return all
}

// rows reads a list of rows with width whole numbers each. The first two numbers of a row have 64 bits, the others 32.
func (p *parser) rows(width int, take func(v []int64)) {
	v := make([]int64, width)
	p.r.List(maxLogLine, func(int) {
		n := p.r.List(width, func(i int) {
			most := int64(math.MaxInt64)
			if i > 1 {
				most = math.MaxInt32
			}
			v[i] = p.r.Number(-1, most)
		})
		if n != width {
			p.r.Bad("", strconv.Itoa(n)+" numbers", strconv.Itoa(width)+" in each row")
		}
		if p.r.Err() == nil {
			take(v)
		}
	})
}

var serverFields = []string{
	"name", "gpus", "cpu_milli", "mem_mib", "pool", "from", "count", "gpu_type", "gpu_mem_mib", "rack",
}

var serverGroup = strictjson.Bits(serverFields, "from", "count")

func (p *parser) servers() (all []cluster.ServerSpec) {
	r := p.r
	r.List(cluster.MaxServers, func(int) {
		var v cluster.ServerSpec
		from, count := 0, 1
		seen := r.Object(serverFields, 0b11111, func(field int) {
			switch serverFields[field] {
			case "name":
				v.Name = p.text()
			case "gpus":
				v.GPUs = int32(r.Number(0, cluster.MaxGPUs))
			case "cpu_milli":
				v.CPUMilli = p.limit()
			case "mem_mib":
				v.MemMiB = p.limit()
			case "pool":
				v.Pool = cluster.Pool(r.OneOf(cluster.Training.String(), cluster.Inference.String()))
			case "from":
				from = int(r.Number(0, 1<<30))
			case "count":
				count = int(r.Number(2, cluster.MaxServers))
			case "gpu_type":
				v.GPUType = p.text()
			case "gpu_mem_mib":
				v.GPUMemMiB = r.Count(0)
			case "rack":
				v.Rack = int32(r.Number(0, cluster.MaxRacks))
			}
		})
		if seen&serverGroup != 0 {
			p.require(serverFields, seen, serverGroup)
		}
		if len(all)+count > cluster.MaxServers {
			r.Bad("count", strconv.Itoa(count), fmt.Sprintf("at most %d servers in all", cluster.MaxServers))
		}
		if r.Err() != nil {
			return
		}
		for i, name := 0, v.Name; i < count; i++ {
			if count > 1 {
				v.Name = name + strconv.Itoa(from+i)
			}
			all = append(all, v)
		}
	})
	return all
}

// limit reads a whole number, or null, which stands for cluster.Unlimited.
func (p *parser) limit() int64 {
	if p.r.Null() {
		return cluster.Unlimited
	}
	return p.r.Number(0, cluster.Unlimited-1)
}
