// Command encoder is clustergym with one more encoder, which gives agents small observations.
//
//	go run ./encoder env describe --scenario embedded-small-v1 --encoder lean
//	go run ./encoder train --scenario embedded-small-v1 --set train.encoder=lean --updates 20 --dir runs/lean
package main

import (
	"github.com/clustergym/clustergym/cli"
	"github.com/clustergym/clustergym/env/observe"
)

func main() {
	observe.Register("lean", func(int) observe.Encoder { return Lean{} })
	cli.Main()
}
