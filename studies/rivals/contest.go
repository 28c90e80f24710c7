package rivals

// contest finds the contestant that beats all others, repeatedly, while the standing of one contestant at a time changes. It is
// a knock-out tournament that replays only the matches of the contestant that changed, so a change takes time logarithmic in the
// number of contestants.
//
// A contestant that beats all others always wins. If there is none, because the relation is not transitive, the draw decides:
// contestants meet in the order of their numbers, paired as in a binary tree.
type contest struct {
	beats  func(a, b int32) bool // a has the smaller number
	n      int32
	winner []int32 // winner[i] won match i between winner[2i] and winner[2i+1]; winner[n+k] is contestant k; -1: both are out
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

// first returns the contestant that wins, or -1 if all are out.
func (c *contest) first() int32 { return c.winner[1] }

// changed replays the matches of contestant k after its standing has changed.
func (c *contest) changed(k int32) {
	for i := (c.n + k) / 2; i > 0; i /= 2 {
		c.play(i)
	}
}

// out removes contestant k from the contest.
func (c *contest) out(k int32) {
	c.winner[c.n+k] = -1
	c.changed(k)
}
