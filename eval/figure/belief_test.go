package figure

import (
	"math"
	"strings"
	"testing"
)

// band returns a band with two points beside its curve.
func band() *Band {
	return &Band{
		Line: Line{"speed", []float64{1, 2, 4}, []float64{.5, 1, 1.2}}, Low: []float64{.4, 1, 1}, High: []float64{.6, 1, 1.5},
		PointX: []float64{1, 4}, PointY: []float64{.5, 1.6}, PointName: "readings", Mark: 2, MarkName: "requested CPU",
	}
}

// TestBeliefsDrawsMarksAndRefusesGaps checks that each quantile that a line reaches and each single point has a mark, and that
// lists that do not belong together are refused.
func TestBeliefsDrawsMarksAndRefusesGaps(t *testing.T) {
	outlines := func(line Line, b *Band) int {
		f, err := Beliefs([]Line{line}, b)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(write(t, f, "svg")), "fill:#FFFFFF")
	}
	full := Line{"all", []float64{1, 60, 3600}, []float64{0, .5, 1}}
	half := Line{"all", []float64{1, 60, 3600}, []float64{0, .2, .5}}
	none := band()
	none.PointX, none.PointY = nil, nil
	if most, less, least := outlines(full, band()), outlines(half, band()), outlines(half, none); most != less+1 || less != least+3 {
		t.Errorf("%d, %d and %d marks, want one less without 90 %%, and three less without points and their swatch", most, less, least)
	}
	for i, spoil := range []func(b *Band){
		func(b *Band) { b.Low = b.Low[1:] },
		func(b *Band) { b.PointX = b.PointX[1:] },
		func(b *Band) { b.High[0] = math.NaN() },
		func(b *Band) { b.X[0] = 3 },
		func(b *Band) { b.Line, b.Low, b.High = Line{}, nil, nil },
	} {
		b := band()
		spoil(b)
		if _, err := Beliefs([]Line{full}, b); err == nil {
			t.Errorf("spoiled band %d is drawn", i)
		}
	}
	if _, err := Beliefs(nil, band()); err == nil {
		t.Error("no run times are drawn")
	}
	full.Y[1] = 2
	if _, err := Beliefs([]Line{full}, band()); err == nil {
		t.Error("a share of 2 is drawn")
	}
}
