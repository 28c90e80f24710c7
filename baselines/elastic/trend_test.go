package elastic_test

import (
	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
)

// fifo starts waiting jobs as requested in the order of submission; a job that does not fit blocks the queue.
type fifo struct{}

func (fifo) Name() string { return "fifo" }
func (fifo) Reset(uint64) {}

func (fifo) Allocate(s *cluster.View, jobs []elastic.Job) {
	free := s.FreeTotal()
	for i := range jobs {
		if free -= int64(jobs[i].Base); free < 0 {
			return
		}
		jobs[i].Want = jobs[i].Base
	}
}
