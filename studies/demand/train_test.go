package demand_test

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/studies/demand"
)

const five = 5 * time.Minute

// wave returns a sine of the given number of samples, 36 per period.
func wave(samples int) inference.Series {
	s := inference.Series{Step: five, Values: make([]float64, samples)}
	for i := range s.Values {
		s.Values[i] = 0.5 + 0.3*math.Sin(2*math.Pi*float64(i)/36)
	}
	return s
}

// brief returns settings for a very short training.
func brief() demand.Config {
	c := demand.DefaultConfig()
	c.Hidden, c.Epochs, c.Batch = 4, 3, 32
	return c
}

func fit(t *testing.T, s inference.Series, c demand.Config) (*demand.LSTM, demand.Report) {
	t.Helper()
	n, r, err := demand.Train(t.Context(), []inference.Series{s}, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n, r
}

func bytesOf(t *testing.T, n *demand.LSTM) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := demand.WriteLSTM(&b, n); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestAWaveIsLearned checks that a wave without noise is learned almost exactly.
func TestAWaveIsLearned(t *testing.T) {
	c := demand.DefaultConfig()
	c.Hidden, c.Epochs, c.Patience, c.Batch, c.Rate = 8, 80, 80, 16, 1e-2
	_, r := fit(t, wave(400), c)
	if share := r.Best.Validation / r.Start.Validation; share > 1e-3 {
		t.Errorf("mean squared error %g of the last value's, want at most a thousandth", share)
	}
}

func TestEqualSettingsGiveEqualBytes(t *testing.T) {
	a, ra := fit(t, wave(300), brief())
	b, rb := fit(t, wave(300), brief())
	if !bytes.Equal(bytesOf(t, a), bytesOf(t, b)) || ra != rb {
		t.Errorf("weights differ between two trainings: %+v and %+v", ra, rb)
	}
	other := brief()
	other.Seed++
	if c, _ := fit(t, wave(300), other); bytes.Equal(bytesOf(t, a), bytesOf(t, c)) {
		t.Error("another seed gives the same weights")
	}
}

func TestWeightsTravel(t *testing.T) {
	n, _ := fit(t, wave(300), brief())
	file := bytesOf(t, n)
	back, err := demand.ReadLSTM(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	window := wave(demand.LSTMWindow).Values
	if got, want := back.Predict(window), n.Predict(window); got != want {
		t.Errorf("predicts %g after the journey, %g before", got, want)
	}
}

// TestAnInterruptKeepsTheBestSoFar checks that if the context ends in the second epoch, that epoch still finishes, and that
// until then the training does not differ from one that runs on.
func TestAnInterruptKeepsTheBestSoFar(t *testing.T) {
	c := brief()
	c.Epochs = 6
	train := func(until int) (told []demand.Epoch, n *demand.LSTM, r demand.Report) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n, r, err := demand.Train(ctx, []inference.Series{wave(300)}, c, func(e demand.Epoch) {
			if told = append(told, e); e.Epoch == until {
				cancel()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return told, n, r
	}
	whole, _, _ := train(0)
	told, n, r := train(2)
	if !slices.Equal(told, whole[:2]) || r.Epochs != 2 || !r.Stopped {
		t.Errorf("epochs %+v, %d of them, stopped %v, want %+v, 2 and true", told, r.Epochs, r.Stopped, whole[:2])
	}
	if r.Best.Epoch != 2 {
		t.Fatalf("the best epoch is %d: the wave is not being learned", r.Best.Epoch)
	}
	window := wave(demand.LSTMWindow).Values
	if n.Predict(window) == window[len(window)-1] {
		t.Error("the network is the untrained one")
	}
}

func TestAContextThatHasEndedTrainsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n, r, err := demand.Train(ctx, []inference.Series{wave(300)}, brief(), nil)
	if err != nil {
		t.Fatal(err)
	}
	window := wave(demand.LSTMWindow).Values
	if got, want := n.Predict(window), window[len(window)-1]; got != want || !r.Stopped || r.Epochs != 0 {
		t.Errorf("predicts %g after %d epochs, stopped %v, want the last value %g, 0 and true", got, r.Epochs, r.Stopped, want)
	}
}

// TestPatienceEndsTraining checks that training ends when patience runs out, with the weights of the best epoch.
func TestPatienceEndsTraining(t *testing.T) {
	s := wave(300)
	for i := 240; i < len(s.Values); i++ {
		s.Values[i] = float64(i % 2) // what the network learns does not help here
	}
	c := brief()
	c.Epochs, c.Patience = 50, 3
	least := math.Inf(1)
	n, r, err := demand.Train(t.Context(), []inference.Series{s}, c, func(e demand.Epoch) { least = min(least, e.Validation) })
	if err != nil {
		t.Fatal(err)
	}
	if r.Epochs != r.Best.Epoch+3 || r.Stopped {
		t.Errorf("%d epochs, the best %d, stopped %v, want 3 after the best", r.Epochs, r.Best.Epoch, r.Stopped)
	}
	if want := min(least, r.Start.Validation); r.Best.Validation != want {
		t.Errorf("best validation %g, want %g", r.Best.Validation, want)
	}
	sum := 0.0
	for i := 240; i < len(s.Values); i++ {
		d := n.Predict(s.Values[i-demand.LSTMWindow:i]) - s.Values[i]
		sum += d * d
	}
	if got := sum / 60; math.Abs(got-r.Best.Validation) > 1e-12 {
		t.Errorf("the weights have a validation error of %g, the report says %g", got, r.Best.Validation)
	}
}

// TestFilledValuesTeachNothing checks that training ignores samples with filled values: changing these does not change the
// weights.
func TestFilledValuesTeachNothing(t *testing.T) {
	a, b := wave(300), wave(300)
	a.Filled, b.Filled = make([]bool, 300), make([]bool, 300)
	for i := 100; i < 105; i++ {
		a.Filled[i], b.Filled[i] = true, true
		b.Values[i] = 0.9
	}
	x, rx := fit(t, a, brief())
	y, ry := fit(t, b, brief())
	if !bytes.Equal(bytesOf(t, x), bytesOf(t, y)) || rx != ry {
		t.Error("the weights depend on filled values")
	}
	if want := 240 - 10 - 15; rx.Samples != want { // minus a window at the start, five filled values, ten windows with some
		t.Errorf("%d samples, want %d", rx.Samples, want)
	}
}

func TestBadTrainingsAreRefused(t *testing.T) {
	flat := inference.Series{Step: five, Values: make([]float64, 300)}
	hourly := wave(300)
	hourly.Step = time.Hour
	for _, c := range []struct {
		name   string
		series []inference.Series
		change func(*demand.Config)
		want   string
	}{
		{"no series", nil, nil, "0 samples to learn from"},
		{"too short", []inference.Series{wave(12)}, nil, "0 samples to learn from"},
		{"a flat series", []inference.Series{flat}, nil, "want both above 0"},
		{"unequal steps", []inference.Series{wave(300), hourly}, nil, "series 1: steps of 1h0m0s, want 5m0s"},
		{"an empty series", []inference.Series{{Step: five}}, nil, "series 0: check series: 0 values"},
		{"no width", []inference.Series{wave(300)}, func(c *demand.Config) { c.Hidden = 0 }, "hidden is 0, want 1 to 256"},
		{"no epochs", []inference.Series{wave(300)}, func(c *demand.Config) { c.Epochs = 0 }, "epochs is 0"},
		{"no batch", []inference.Series{wave(300)}, func(c *demand.Config) { c.Batch = 0 }, "batch is 0"},
		{"no patience", []inference.Series{wave(300)}, func(c *demand.Config) { c.Patience = 0 }, "patience is 0"},
		{"no rate", []inference.Series{wave(300)}, func(c *demand.Config) { c.Rate = math.NaN() }, "rate is NaN"},
		{"all validation", []inference.Series{wave(300)}, func(c *demand.Config) { c.Validation = 1 }, "validation is 1"},
	} {
		cfg := brief()
		if c.change != nil {
			c.change(&cfg)
		}
		if _, _, err := demand.Train(t.Context(), c.series, cfg, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.name, err, c.want)
		}
	}
}
