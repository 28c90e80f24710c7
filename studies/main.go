// Command clustergym-studies fits, compares and reproduces: the studies behind clustergym.
package main

import "github.com/clustergym/clustergym/studies/cli"

func main() { cli.Main() }
