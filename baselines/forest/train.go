package forest

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/clustergym/clustergym/internal/rng"
)

// Train grows a forest on rows, [row][feature] in one slice, with a target for each row. It returns an error if a number is not
// finite, if the configuration is not valid, or if the forest would have more than maxNodes nodes. It panics if the lengths of
// the slices do not match. It keeps neither slice.
func Train(rows []float32, targets []float64, c Config) (*Forest, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	n := len(targets)
	if n == 0 || len(rows)%n != 0 || len(rows) == 0 {
		panic(fmt.Sprintf("forest: %d values for %d rows", len(rows), n))
	}
	features := len(rows) / n
	if features > maxFeatures || n > math.MaxInt32 {
		return nil, fmt.Errorf("train forest: %d rows of %d features, want at most %d of %d",
			n, features, math.MaxInt32, maxFeatures)
	}
	base, err := checked(rows, targets)
	if err != nil {
		return nil, err
	}
	t := &training{config: c, columns: binned(rows, features, c.Bins), targets: make([]float64, n)}
	if t.config.Features == 0 {
		t.config.Features = int(math.Ceil(math.Sqrt(float64(features))))
	}
	for i, y := range targets {
		t.targets[i] = y - base
	}
	f := &Forest{features: features, median: c.Median, base: base}
	for _, tree := range t.grow() {
		if len(f.nodes)+len(tree) > maxNodes {
			return nil, fmt.Errorf("train forest: more than %d nodes, want fewer trees or larger leaves", maxNodes)
		}
		root := int32(len(f.nodes))
		f.roots = append(f.roots, root)
		for _, n := range tree {
			n.right += root
			f.nodes = append(f.nodes, n)
		}
	}
	return f, nil
}

// checked returns the mean target, or an error if a number is not finite or too large.
func checked(rows []float32, targets []float64) (float64, error) {
	features := len(rows) / len(targets)
	for i, v := range rows {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return 0, fmt.Errorf("train forest: row %d: feature %d is %v, want a finite number", i/features, i%features, v)
		}
	}
	sum := 0.0
	for i, y := range targets {
		if !(math.Abs(y) <= maxTarget) {
			return 0, fmt.Errorf("train forest: row %d: target %v, want a number within ±%g", i, y, maxTarget)
		}
		sum += y
	}
	return sum / float64(len(targets)), nil
}

// maxTarget is the largest absolute target. It keeps squares of sums finite, and leaves within float32.
const maxTarget = 1e30

// training is the read-only data that all trees share.
type training struct {
	config  Config
	columns []column
	targets []float64 // minus their mean
}

// grow returns all trees, each with the indices of its own nodes.
func (t *training) grow() [][]node {
	trees := make([][]node, t.config.Trees)
	workers := t.config.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, len(trees)) {
		wg.Go(func() {
			g := newGrower(t)
			for {
				k := int(next.Add(1)) - 1
				if k >= len(trees) {
					return
				}
				trees[k] = g.tree(rng.Stream(t.config.Seed, "forest", strconv.Itoa(k)))
			}
		})
	}
	wg.Wait()
	return trees
}

// grower grows one tree at a time and reuses its memory for the next.
type grower struct {
	*training
	rand *rand.Rand

	// The bootstrap sample contains each drawn row once, with its weight.
	drawn  []uint16  // by row of the training data: how often it was drawn
	bins   [][]uint8 // [column][row of the sample]
	rows   []weighted
	order  []int32 // rows of the sample; those of a node are adjacent and ascending
	spare  []int32
	choice []int32 // columns, in an order drawn again for each split
	bars   [256]weighted
	sorted []weighted // rows of the present leaf
	nodes  []node
}

// weighted is a row of the sample, or the sum of several rows.
type weighted struct {
	sum    float64 // target times weight
	weight float64 // how often it was drawn
}

func newGrower(t *training) *grower {
	n := len(t.targets)
	g := &grower{
		training: t, drawn: make([]uint16, n), bins: make([][]uint8, len(t.columns)), spare: make([]int32, n),
		choice: make([]int32, len(t.columns)),
	}
	for i := range g.choice {
		g.choice[i] = int32(i)
	}
	return g
}

// tree grows a tree on a bootstrap sample.
func (g *grower) tree(r *rand.Rand) []node {
	g.rand = r
	for i := range g.choice {
		g.choice[i] = int32(i)
	}
	clear(g.drawn)
	for range g.drawn {
		g.drawn[r.IntN(len(g.drawn))]++
	}
	g.take()
	g.nodes = g.nodes[:0]
	g.node(g.order, g.config.Depth)
	return append([]node(nil), g.nodes...)
}

// take makes the sample from drawn.
func (g *grower) take() {
	g.rows, g.order = g.rows[:0], g.order[:0]
	for k := range g.bins {
		g.bins[k] = g.bins[k][:0]
	}
	for i, times := range g.drawn {
		if times > 0 {
			g.order = append(g.order, int32(len(g.rows)))
			g.rows = append(g.rows, weighted{g.targets[i] * float64(times), float64(times)})
		}
	}
	for k := range g.columns {
		bins := g.columns[k].bins
		for i, times := range g.drawn {
			if times > 0 {
				g.bins[k] = append(g.bins[k], bins[i])
			}
		}
	}
}

// node appends the subtree for the given rows.
func (g *grower) node(rows []int32, depth int) {
	var all weighted
	same := true
	first := g.rows[rows[0]]
	for _, i := range rows {
		r := g.rows[i]
		all.sum += r.sum
		all.weight += r.weight
		same = same && r.sum*first.weight == first.sum*r.weight
	}
	var s split
	ok := !same && depth > 0 && all.weight >= 2*float64(g.config.MinLeaf)
	if ok {
		s, ok = g.split(rows, all)
	}
	me := len(g.nodes)
	if !ok {
		g.nodes = append(g.nodes, node{feature: leaf, value: float32(g.answer(rows, all))})
		return
	}
	bins := g.bins[s.column]
	left, right := 0, 0
	for _, i := range rows {
		if bins[i] <= s.bin {
			rows[left] = i
			left++
		} else {
			g.spare[right] = i
			right++
		}
	}
	copy(rows[left:], g.spare[:right])
	c := &g.columns[s.column]
	g.nodes = append(g.nodes, node{})
	g.node(rows[:left], depth-1)
	g.nodes[me] = node{feature: c.feature, right: int32(len(g.nodes)), value: c.edges[s.bin]}
	g.node(rows[left:], depth-1)
}

// answer returns the answer of a leaf for its rows, whose sum is all.
func (g *grower) answer(rows []int32, all weighted) float64 {
	if !g.config.Median {
		return all.sum / all.weight
	}
	g.sorted = g.sorted[:0]
	for _, i := range rows {
		g.sorted = append(g.sorted, g.rows[i])
	}
	slices.SortFunc(g.sorted, func(a, b weighted) int { return cmp.Compare(a.sum/a.weight, b.sum/b.weight) })
	below := 0.0
	for i, r := range g.sorted {
		below += r.weight
		switch {
		case 2*below > all.weight:
			return r.sum / r.weight
		case 2*below == all.weight:
			next := g.sorted[i+1]
			return (r.sum/r.weight + next.sum/next.weight) / 2
		}
	}
	panic("forest: rows weigh less than their sum")
}

// split is a split of a node: rows in bins up to bin go left.
type split struct {
	column int32
	bin    uint8
	score  float64 // sum²/weight of the left rows plus that of the right rows; the higher it is, the smaller is the squared error
}

// split returns the best split among the features drawn for it; all is the sum of the rows. Among equal splits, the feature
// drawn first and the lowest bin win.
func (g *grower) split(rows []int32, all weighted) (split, bool) {
	best := split{score: all.sum * all.sum / all.weight * (1 + rounding)}
	found := false
	for k := range g.choice {
		if k >= g.config.Features && found {
			break
		}
		other := k + g.rand.IntN(len(g.choice)-k)
		g.choice[k], g.choice[other] = g.choice[other], g.choice[k]
		found = g.scan(g.choice[k], rows, all, &best) || found
	}
	return best, found
}

// rounding is the relative gain below which a split counts as a rounding error.
const rounding = 1e-12

// scan tries all splits by one column, and reports whether one was better than best.
func (g *grower) scan(column int32, rows []int32, all weighted, best *split) bool {
	bins, bars := g.bins[column], &g.bars
	var touched [4]uint64
	for _, i := range rows {
		b := bins[i]
		r := &g.rows[i]
		bars[b].sum += r.sum
		bars[b].weight += r.weight
		touched[b>>6] |= 1 << (b & 63)
	}
	least := float64(g.config.MinLeaf)
	var left weighted
	better := false
	last := -1 // the bin before b that has rows
	for w, word := range touched {
		for ; word != 0; word &= word - 1 {
			b := w<<6 + bits.TrailingZeros64(word)
			right := weighted{all.sum - left.sum, all.weight - left.weight}
			if left.weight >= least && right.weight >= least {
				if score := left.sum*left.sum/left.weight + right.sum*right.sum/right.weight; score > best.score {
					// The bins between the two are empty here. For rows outside the sample, the middle edge is as good as any.
					*best = split{column, uint8((last + b - 1) / 2), score}
					better = true
				}
			}
			left.sum += bars[b].sum
			left.weight += bars[b].weight
			bars[b] = weighted{}
			last = b
		}
	}
	return better
}
