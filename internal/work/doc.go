// Package work gives units of a job to workers: processes on this machine and on others. It knows nothing of what they compute. A
// job is a text that says what every unit has in common, a unit is a number, and an answer is the result of a unit, as bytes.
//
// The process that needs the answers, the learner, has a Pool. Each worker runs a Worker. Both connect to a broker, a server of
// NATS with JetStream: a Broker in the learner's process, or any server of that kind. The broker keeps the units that are given
// out in a stream, and a worker pulls one of them at a time. While it computes, it tells the broker so; if the broker hears
// nothing for AckWait, it gives the unit to another worker. A worker sends its answer to the learner, again and again until the
// learner has stored it, and the learner then deletes the unit from the stream. So whichever process is killed, no answer that
// the learner has stored is lost or computed again, and every other unit is given out again. An answer that comes twice does no
// harm, because a unit has only one right answer.
//
// The package reads the wall clock, to find lost workers and to show progress. Answers never depend on it.
package work
