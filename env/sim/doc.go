// Package sim simulates a cluster event by event and records the event log. There are no ticks: completion times are exact even
// when the speeds of jobs change. The package computes no statistics. All metrics and charts of an episode are functions of its
// Log.
package sim
