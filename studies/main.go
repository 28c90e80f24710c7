// Command clustergym-studies runs the studies behind clustergym: fits, comparisons of predictors, and reproductions of papers.
package main

import "github.com/clustergym/clustergym/studies/cli"

func main() { cli.Main() }
