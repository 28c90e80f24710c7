// Command clustergym trains, compares, exports and asks scheduling policies for GPU clusters.
package main

import "github.com/clustergym/clustergym/cli"

func main() { cli.Main() }
