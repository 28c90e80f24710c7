// Package envserve serves a vector of environments to another process, its parent: arrays in memory that both processes map, and
// two pipes, one for requests and one for replies. It is how learners in Python play; nothing in it depends on Python.
//
// # Requests
//
// A request is 8 bytes: its kind and an argument, both 32 bits, little endian. A reply is its status (0 for done, 1 for an error)
// and the length of what follows, both 32 bits, then so many bytes: for an error a message in UTF-8, at most 64 KiB. Every
// request has one reply, in order.
//
//	kind  name    argument                            reply
//	1     hello   the protocol that the parent speaks the Hello as JSON: the spaces, and where each array is in memory
//	2     reset   0                                   the slot that holds the observations, and 0, 32 bits each
//	3     step    0: Actions, 1: Joint                the slot, and how many environments replaced an episode, 32 bits each
//	4     render  an environment's index              what Config.Render returns
//	5     echo    any number                          this number, 32 bits
//	6     save    0                                   JSON that Server.Restore takes, for a copy of this server
//
// The first request is hello. If the parent speaks another protocol, every request is answered by an error that names both. The
// server ends when the pipe of requests ends; this pipe is the only thing that keeps it alive. Pipes are used because a request
// and its reply through a Unix socket took twice the CPU time.
//
// A parent that was interrupted while it waited for a reply need not remember what it has read: it sends an echo of a number that
// it draws, and ignores what comes before the reply to it.
//
// # Memory
//
// The parent writes the arrays in: actions [N], joint [N][A], seeds [N], reset [N]. The server writes all others. N is the number
// of environments, A that of agents, C that of candidate numbers, J that of job rows. Arrays that show a time step have two
// slots, [2][N]...: a step writes the slot that the step before did not write, so observations stay as they are until the second
// step after. The environments encode observations and masks right into these arrays; nothing copies them.
//
// A parent that wants a copy of a server starts another one with the reply to save in the file for the memory. It plays the
// present episodes again, and their time steps are in slot 0 before the first request.
//
// A reset resets the environments whose element of reset is not 0, environment i with seeds[i]. If these are all, it writes the
// other slot, as a step does; if not, it writes into the present one and leaves the rows of other environments as they are.
//
// The time and the rewards of an episode's first step include those before it, and what a reset shows has none: so rewards of
// steps sum to the return. See env.NewWholeReturn.
//
// A step takes either actions, the number of one candidate for each environment, which its coalition then names unanimously, or
// joint, a number for each agent. A number that the mask forbids counts as 0, to pass; the array illegal says how many did. If
// an episode is over, what the parent wrote for it is ignored.
package envserve
