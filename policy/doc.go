// Package policy finds policies by name, for comparisons, for production and for the command line alike: baselines, what comes
// with the program, and the folders of exported policies and of runs. It says who decides, by what weights, from which prior and
// on which jobs these were trained.
package policy
