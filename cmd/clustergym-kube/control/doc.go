// Package control is the scheduling loop. In each round it reads the cluster, asks a policy to decide, limits the decision and
// writes it to the cluster. In shadow mode it writes nothing and compares the decision with what another scheduler did.
//
// A round depends only on the objects that the API server shows and on the bindings that the server has accepted but does not
// show yet. So if the process is killed at any point, the next process continues its work. Nothing is done twice, because every
// write names its object by UID. A partly bound gang is completed, or given up after its deadline.
package control
