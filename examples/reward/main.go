// Command reward is clustergym with one more reward, in which a minute of waiting costs most for short jobs.
//
//	go run ./reward train --scenario embedded-small-v1 --objective slowdown --updates 20 --dir runs/slowdown
package main

import (
	"time"

	"github.com/clustergym/clustergym/cli"
	"github.com/clustergym/clustergym/env"
)

func main() {
	env.RegisterReward(Slowdown{Floor: 10 * time.Second})
	cli.Main()
}
