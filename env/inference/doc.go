// Package inference is the inference side of capacity loaning. It computes how many servers inference needs over time, predicts
// the need one step ahead, and from both how many servers it offers to lend. It does not depend on training jobs or on which
// servers are on loan.
package inference
