package elastic

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// BenchmarkAllocate measures an allocation at 1,000 servers of 8 GPUs with 700 running elastic jobs and 5,000 waiting jobs, half
// of them elastic.
func BenchmarkAllocate(b *testing.B) {
	models := append(profile.Names()[:26], "")
	var list []asked
	for i := range 700 {
		list = append(list, asked{base: 1 + int32(i%4), most: 8 + int32(i%25), now: 8})
	}
	for i := range 5000 {
		a := asked{base: 1 + int32(i%7)}
		if a.most = a.base; i%2 == 0 {
			a.most += 1 + int32(i%31)
		}
		list = append(list, a)
	}
	for i := range list {
		list[i].left, list[i].model = time.Duration(1+i*7919%10007)*time.Minute, models[i%len(models)]
	}
	s, jobs := stand(b, cluster.Uniform(1000, 8), list)
	s.Advance(time.Hour)
	for _, c := range []struct {
		name   string
		policy Policy
	}{
		{"pollux", NewPollux(DefaultPollux())},
	} {
		b.Run(c.name, func(b *testing.B) {
			given := make([]Job, len(jobs))
			b.ReportAllocs()
			for b.Loop() {
				c.policy.Reset(1)
				copy(given, jobs)
				c.policy.Allocate(&s.View, given)
			}
			held, started := int64(0), 0
			for i := range given {
				held += int64(given[i].Want) * given[i].GPUMilli / cluster.WholeGPU
				if given[i].Now == 0 && given[i].Want > 0 {
					started++
				}
			}
			b.ReportMetric(float64(held), "GPUs")
			b.ReportMetric(float64(started), "starts")
		})
	}
}
