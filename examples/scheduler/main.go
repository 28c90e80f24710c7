// Command scheduler is clustergym with one more policy, a scheduler of your own.
//
//	go run ./scheduler eval --scenario embedded-small-v1 --policies fifo,sjfskip,backfill --baseline fifo --seeds 1
package main

import (
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/cli"
	"github.com/clustergym/clustergym/env/cluster"
)

func main() {
	own := baselines.Baseline{Name: "backfill", About: "submission order; jobs behind one that does not fit may not delay it"}
	cli.Main(cli.Schedulers{baselines.Own(own, func() cluster.Scheduler { return &Backfill{} })})
}
