package candidates

import "fmt"

// Kind is the kind of a candidate: what it does.
type Kind uint8

// The kinds. Features encode the kind by its position, so the order must not change. About describes each kind. The kinds from
// Part on occur only in wide lists.
const (
	Own Kind = iota
	Packed
	Alone
	Aligned
	Sized
	First
	Begin
	Wait
	Stop
	Reserve
	Gather
	Drop
	Veto
	Grow
	Move
	Preempt
	Part
	Rival
	Amounts
	Shrink
	Lend
	Return
	Kinds int = iota
)

// Narrow is the number of kinds that occur in narrow lists: those before Part.
const Narrow = int(Part)

var kinds = [Kinds]struct{ name, about string }{
	Own:     {"own", "what the prior proposes: its next start, its proposal as a whole, or to start nobody else"},
	Packed:  {"packed", "start the job beside another on the same GPUs"},
	Alone:   {"alone", "start the job on GPUs that nobody else uses"},
	Aligned: {"aligned", "start the job where others end when it does"},
	Sized:   {"sized", "start the job with another number of workers"},
	First:   {"first", "start another job in its place"},
	Begin:   {"begin", "start a job that the prior leaves waiting, or elsewhere"},
	Wait:    {"wait", "let the job wait at this instant"},
	Stop:    {"stop", "start nobody at this instant"},
	Reserve: {"reserve", "hold servers for a gang that the job would be in the way of"},
	Gather:  {"gather", "let a gang wait for fewer servers"},
	Drop:    {"drop", "give up the block that is held"},
	Veto:    {"veto", "preempt nobody"},
	Grow:    {"grow", "give a running job more workers"},
	Move:    {"move", "move a running job, or change its amounts"},
	Preempt: {"preempt", "stop a running job for one that waits"},
	Part:    {"part", "one start of those that the prior proposes"},
	Rival:   {"rival-proposal", "what another scheduler proposes"},
	Amounts: {"amounts", "start the job with other CPU and memory, or other shares of GPUs"},
	Shrink:  {"shrink", "take workers from a running job"},
	Lend:    {"lend", "borrow a server of the inference pool"},
	Return:  {"return", "give a server back to it"},
}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) >= len(kinds) {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return kinds[k].name
}

// About returns one line that says what a candidate of the kind does, "" for an unknown kind.
func (k Kind) About() string {
	if int(k) >= len(kinds) {
		return ""
	}
	return kinds[k].about
}
