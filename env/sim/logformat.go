package sim

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// The limits of a log protect against hostile and broken files.
const (
	maxLogLine = 16 << 20                   // bytes
	maxLogJobs = 1 << 27                    // jobs
	maxTime    = 100 * 365 * 24 * time.Hour // for a submit time, a duration and a horizon
	lastTime   = cluster.Never - 1          // for any record
)

// logs is the format of event logs. The tags of Config, of jobs and of placements say how they are read. Kinds that refer to the
// cluster or to the number of jobs ask the parser, which owns the reader.
var logs = strictjson.Format{
	Key: "log",
	Limits: map[string]int64{
		"maxTime": int64(maxTime), "maxLogJobs": maxLogJobs, "maxLogLine": maxLogLine,
		"WholeGPU": cluster.WholeGPU, "MaxGPUs": cluster.MaxGPUs, "MaxServers": cluster.MaxServers, "MaxRacks": cluster.MaxRacks,
		"MaxNoise": MaxNoise,
	},
	Most: "maxLogLine",
	Kinds: map[string]strictjson.Kind{
		"format": strictjson.Words[uint8](logFormat),
		"status": strictjson.Words[trace.Status](
			trace.Unknown.String(), trace.Passed.String(), trace.Failed.String(), trace.Killed.String()),
		"pool": strictjson.Words[cluster.Pool](cluster.Training.String(), cluster.Inference.String()),
		"naming": strictjson.As(func(r *strictjson.Reader, to *Naming) {
			all := []Naming{FullName, Domain, NoName}
			*to = all[r.OneOf(string(FullName), string(Domain), string(NoName))]
		}),
		"text":    strictjson.As(func(r *strictjson.Reader, to *string) { *to = readText(r) }),
		"physics": strictjson.As(readPhysics),
		"limit":   strictjson.As(readLimit),
		"servers": strictjson.As(readServers),
		"outages": strictjson.As(readOutages),
		"demand":  strictjson.As(readDemand),
		"where":   strictjson.As(readWhere),
	},
}

func owner(r *strictjson.Reader) *parser { return r.Owner.(*parser) }

// readText reads a string without control characters, which could harm a terminal.
func readText(r *strictjson.Reader) string {
	s, ok := r.String(maxLogLine)
	if !ok || !names.Clean(s) {
		r.Refuse("printable text in UTF-8")
	}
	return s
}

func readPhysics(r *strictjson.Reader, to *physics.Model) {
	var err error
	if name := readText(r); r.Err() == nil {
		*to, err = physics.Parse(name)
	}
	if err != nil {
		r.Fail(err)
	}
}

// readLimit reads a whole number, or null, which stands for cluster.Unlimited.
func readLimit(r *strictjson.Reader, to *int64) {
	if *to = cluster.Unlimited; !r.Null() {
		*to = r.Number(0, cluster.Unlimited-1)
	}
}

func readOutages(r *strictjson.Reader, to *[]Outage) {
	rows(r, 4, func(v []int64) {
		*to = append(*to, Outage{time.Duration(v[0]), time.Duration(v[1]), cluster.ServerID(v[2]), int32(v[3])})
	})
}

func readDemand(r *strictjson.Reader, to *[]Demand) {
	rows(r, 3, func(v []int64) { *to = append(*to, Demand{time.Duration(v[0]), v[1], int32(v[2])}) })
}

// rows reads a list of rows with width whole numbers each. The first two numbers of a row have 64 bits, the others 32.
func rows(r *strictjson.Reader, width int, take func(v []int64)) {
	v := make([]int64, width)
	r.List(maxLogLine, func(int) {
		n := r.List(width, func(i int) {
			most := int64(math.MaxInt64)
			if i > 1 {
				most = math.MaxInt32
			}
			v[i] = r.Number(-1, most)
		})
		if n != width {
			r.Bad("", strconv.Itoa(n)+" numbers", strconv.Itoa(width)+" in each row")
		}
		if r.Err() == nil {
			take(v)
		}
	})
}

// serverGroup is servers that differ only in the number at the end of their names.
type serverGroup struct {
	cluster.ServerSpec
	From  int `log:"from,0..1073741824"`
	Count int `log:"count,2..MaxServers"`
}

var (
	groupFields = strictjson.Names("log", serverGroup{})
	ofGroup     = strictjson.Bits(groupFields, "from", "count")
)

func readServers(r *strictjson.Reader, to *[]cluster.ServerSpec) {
	r.List(cluster.MaxServers, func(int) {
		g := serverGroup{Count: 1}
		seen := r.Struct(&g)
		if seen&ofGroup != 0 {
			require(r, groupFields, seen, ofGroup)
		}
		if len(*to)+g.Count > cluster.MaxServers {
			r.Bad("count", strconv.Itoa(g.Count), fmt.Sprintf("at most %d servers in all", cluster.MaxServers))
		}
		if r.Err() != nil {
			return
		}
		for i, name := 0, g.Name; i < g.Count; i++ {
			if g.Count > 1 {
				g.Name = name + strconv.Itoa(g.From+i)
			}
			*to = append(*to, g.ServerSpec)
		}
	})
}

// readServer reads the id of a server.
func readServer(r *strictjson.Reader, to *cluster.ServerID) {
	*to = cluster.ServerID(r.Number(0, int64(len(owner(r).log.Config.Cluster.Servers))-1))
}

// readWhere reads the ids of the servers on which a job may run, in ascending order. Jobs with the same ids share one set.
func readWhere(r *strictjson.Reader, to **cluster.ServerSet) {
	p := owner(r)
	servers := len(p.log.Config.Cluster.Servers)
	set, last := cluster.NewServerSet(servers), int64(-1)
	r.List(servers, func(int) {
		if last = r.Number(last+1, int64(servers)-1); r.Err() == nil {
			set.Add(cluster.ServerID(last))
		}
	})
	if r.Err() == nil {
		*to = p.sets.Of(set)
	}
}
