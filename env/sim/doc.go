// Package sim advances a cluster through time, event by event, and writes the event log. There are no ticks: completion times
// are exact under speeds that change. It computes no statistics; whatever one wants to know of an episode is a function of
// its Log.
package sim
