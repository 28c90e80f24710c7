package gavel

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
	"pgregory.net/rapid"
)

// level returns the level that the shares give a job of the class.
func level(c *jobClass, share []float64) (v float64) {
	for o, part := range share {
		v += part * c.GPUs * c.Speed[o] / c.Norm
	}
	return v
}

func TestAllocateByHand(t *testing.T) {
	class := func(jobs, gpus, norm float64, speed ...float64) jobClass { return jobClass{jobs, gpus, speed, norm} }
	for _, c := range []struct {
		name    string
		gpus    []float64
		classes []jobClass
		want    [][]float64
	}{
		{"one GPU, four jobs: a quarter of the time each", []float64{1}, []jobClass{class(4, 1, 1, 1)}, [][]float64{{0.25}}},
		{"more GPUs than jobs: all the time", []float64{8}, []jobClass{class(3, 2, 1, 1)}, [][]float64{{1}}},
		// With x and y the times of a job of each class: 2x + 2y = 2 at x = 2y, equal GPU-time.
		{"a gang of 2 gets half the time of a single job", []float64{2}, []jobClass{class(2, 1, 1, 1), class(1, 2, 1, 1)},
			[][]float64{{2. / 3}, {1. / 3}}},
		// Job a is 3 times as fast on type 0, job b equally fast on both: each takes the type that suits it better.
		{"jobs take the types that they are better at", []float64{1, 1}, []jobClass{class(1, 1, 2, 3, 1), class(1, 1, 1, 1, 1)},
			[][]float64{{1, 0}, {0, 1}}},
		// One GPU of each type; a is twice as fast on type 0, b four times. Let x and y be the fractions of their time there, with the
		// rest on type 1: x + y = 1, and (1 + x)/1.5 = (1 + 3y)/2.5.
		{"two jobs that prefer one type split it by what it is worth to them", []float64{1, 1},
			[]jobClass{class(1, 1, 1.5, 2, 1), class(1, 1, 2.5, 4, 1)}, [][]float64{{0.5, 0.5}, {0.5, 0.5}}},
		// b can run only on type 1, where a uses nothing.
		{"what the least served cannot use goes to others", []float64{1, 4}, []jobClass{class(2, 1, 1, 1, 0), class(2, 1, 1, 0, 1)},
			[][]float64{{0.5, 0}, {0, 1}}},
		{"a class that can run nowhere gets nothing and harms nobody", []float64{1},
			[]jobClass{class(1, 1, 0, 0), class(1, 1, 1, 1)}, [][]float64{{0}, {1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := allocate(typesOf(c.gpus...), c.classes, 16)
			for i := range got {
				for o := range got[i] {
					if math.Abs(got[i][o]-c.want[i][o]) > 1e-6 {
						t.Fatalf("shares %v, want %v", got, c.want)
					}
				}
			}
		})
	}
}

func drawMarket(t *rapid.T) (classMarket, []jobClass) {
	types := rapid.IntRange(1, 3).Draw(t, "types")
	var gpus []float64
	for range types {
		gpus = append(gpus, float64(rapid.IntRange(1, 12).Draw(t, "GPUs")))
	}
	m := typesOf(gpus...)
	if rapid.Bool().Draw(t, "mixture") {
		use := make([]float64, types)
		for i := range use {
			use[i] = 1 / float64(types)
		}
		m.Uses = append(m.Uses, use)
	}
	classes := make([]jobClass, rapid.IntRange(1, 5).Draw(t, "classes"))
	for i := range classes {
		c := &classes[i]
		c.Jobs = float64(rapid.IntRange(1, 4).Draw(t, "jobs"))
		c.GPUs = float64(rapid.SampledFrom([]int{1, 1, 2, 4}).Draw(t, "gang"))
		c.Norm = 1
		for range m.Uses {
			c.Speed = append(c.Speed, rapid.SampledFrom([]float64{0, 0.25, 1, 1, 2, 3.5}).Draw(t, "speed"))
		}
	}
	return m, classes
}

func runs(c *jobClass) bool {
	for _, s := range c.Speed {
		if s > 0 {
			return true
		}
	}
	return false
}

// best computes, by a general solver, the highest level that the open classes can reach while the others keep theirs.
func best(t *rapid.T, m classMarket, classes []jobClass, open []bool, keep []float64) float64 {
	var vars []int // class*options + option
	options := len(m.Uses)
	for i := range classes {
		for o := range options {
			if classes[i].Speed[o] > 0 {
				vars = append(vars, i*options+o)
			}
		}
	}
	n := len(vars) + 1 // and the level
	var g [][]float64
	var h []float64
	for i := range classes {
		if !runs(&classes[i]) {
			continue
		}
		time, gain := make([]float64, n), make([]float64, n)
		for k, v := range vars {
			if v/options == i {
				time[k] = 1
				gain[k] = -classes[i].GPUs * classes[i].Speed[v%options] / classes[i].Norm
			}
		}
		least := -keep[i]
		if open[i] {
			gain[n-1], least = 1, 0
		}
		g, h = append(g, time, gain), append(h, 1, least)
	}
	for k := range m.GPUs {
		use := make([]float64, n)
		for j, v := range vars {
			use[j] = m.Uses[v%options][k] * classes[v/options].Jobs * classes[v/options].GPUs
		}
		g, h = append(g, use), append(h, m.GPUs[k])
	}
	rows := len(g)
	a := mat.NewDense(rows, n+rows, nil)
	for r := range g {
		for j, v := range g[r] {
			a.Set(r, j, v)
		}
		a.Set(r, n+r, 1)
		if h[r] < 0 { // make the first basis of the solver feasible
			for j := range n + rows {
				a.Set(r, j, -a.At(r, j))
			}
			h[r] = -h[r]
		}
	}
	c := make([]float64, n+rows)
	c[n-1] = -1
	v, _, err := lp.Simplex(c, a, h, 1e-10, nil)
	if err != nil {
		t.Skipf("the general solver: %v", err)
	}
	return -v
}

// TestAllocateIsMaxMinFair checks that shares are feasible, that the least served class gets what a general solver computes, and
// that after all levels no class can get more without harm to one that gets no more.
func TestAllocateIsMaxMinFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, classes := drawMarket(t)
		for _, levels := range []int{1, 100} {
			got := allocate(m, classes, levels)
			levelsGot := make([]float64, len(classes))
			uses := make([]float64, len(m.GPUs))
			least := math.Inf(1)
			open := make([]bool, len(classes))
			for i := range classes {
				time := 0.0
				for o, part := range got[i] {
					time += part
					if part < -1e-9 || part > 1e-9 && classes[i].Speed[o] == 0 {
						t.Fatalf("class %d: shares %v", i, got[i])
					}
					for k, n := range m.Uses[o] {
						uses[k] += n * part * classes[i].Jobs * classes[i].GPUs
					}
				}
				if time > 1+1e-9 {
					t.Fatalf("class %d: %v of the time", i, time)
				}
				levelsGot[i] = level(&classes[i], got[i])
				if open[i] = runs(&classes[i]); open[i] {
					least = min(least, levelsGot[i])
				}
			}
			for k := range uses {
				if uses[k] > m.GPUs[k]+1e-7 {
					t.Fatalf("uses %v of %v", uses, m.GPUs)
				}
			}
			if math.IsInf(least, 1) {
				return
			}
			if want := best(t, m, classes, open, levelsGot); math.Abs(least-want) > 1e-5 {
				t.Fatalf("%d levels: least %v of %v, want %v in %v", levels, least, levelsGot, want, classes)
			}
			if levels == 1 {
				continue
			}
			// For every class: while all that get no more than it keep what they have, can it get more?
			for i := range classes {
				if !runs(&classes[i]) {
					continue
				}
				alone, keep := make([]bool, len(classes)), make([]float64, len(classes))
				alone[i] = true
				for k := range classes {
					if levelsGot[k] <= levelsGot[i]+1e-6 {
						keep[k] = max(levelsGot[k]-1e-9, 0)
					}
				}
				if could := best(t, m, classes, alone, keep); could > levelsGot[i]+1e-4 {
					t.Fatalf("class %d gets %v of %v but could get %v in %+v", i, levelsGot[i], levelsGot, could, classes)
				}
			}
		}
	})
}
