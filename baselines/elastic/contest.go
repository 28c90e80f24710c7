package elastic

// contest finds the contestant that beats the others, again and again while their standings change one at a time, each in
// time of the logarithm of their number: a knock-out tournament that replays only the matches of who has changed.
//
// Who beats all others wins, whatever the draw. Where nobody does, as a relation that is not transitive allows, the draw
// decides: contestants meet in the order of their numbers, as a binary tree pairs them.
type contest struct {
	beats  func(a, b int32) bool // a has the smaller number
	n      int32
	winner []int32 // of match i between the winners of 2i and 2i+1; n+k is contestant k alone; -1 if both are out
}

func newContest(n int, beats func(a, b int32) bool) *contest {
	c := &contest{beats: beats, n: int32(n), winner: make([]int32, max(2*n, 2))}
	c.winner[1] = -1
	for k := range c.n {
		c.winner[c.n+k] = k
	}
	for i := c.n - 1; i > 0; i-- {
		c.play(i)
	}
	return c
}

func (c *contest) play(i int32) {
	a, b := c.winner[2*i], c.winner[2*i+1]
	if a > b {
		a, b = b, a
	}
	if a < 0 || !c.beats(a, b) {
		a = b
	}
	c.winner[i] = a
}

// first returns the contestant that wins, -1 if all are out.
func (c *contest) first() int32 { return c.winner[1] }

// changed replays the matches of a contestant whose standing has changed.
func (c *contest) changed(k int32) {
	for i := (c.n + k) / 2; i > 0; i /= 2 {
		c.play(i)
	}
}

// out takes a contestant out of the contest.
func (c *contest) out(k int32) {
	c.winner[c.n+k] = -1
	c.changed(k)
}
