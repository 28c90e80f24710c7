package fit

// Synergy's sensitivity matrices of one GPU: speed relative to the fair share, rounded by their authors, over CPU cores per
// GPU (rows) and GB of host memory per GPU (columns).
//
// Source: msr-fiddle/synergy, commit 1b013c23727c0ab48d3b06fbab7e1a887d684d70, simulator/models/*_1.py. Licence: MIT.
var (
	synergyCores = []float64{1, 2, 3, 4, 5, 6, 9, 12, 24}
	synergyMem   = []float64{20.83, 62.5, 125, 187.5, 250}
)

// thrash is the speed of every memory-sensitive model in the column of 20.83 GB, in which its working set does not fit.
const thrash = 0.1

// matrix is the matrix of one model. A cell without an exception is thrash in the first column and by row in the others.
type matrix struct {
	model  string
	byRow  []float64                      // nil: 1 everywhere, for a model that depends on neither CPU nor memory
	except func(float64, float64) float64 // from cores and GB to the speed, 0 for no exception; may be nil
}

var matrices = []matrix{
	{"alexnet", []float64{.3, .66, 1, 1.25, 1.53, 1.75, 2, 2, 2}, func(cores, mem float64) float64 {
		return when(cores >= 12 && mem >= 125, 2.94)
	}},
	{"shufflenet", []float64{.3, .66, 1, 1.25, 1.53, 1.75, 2, 2, 2}, func(cores, mem float64) float64 {
		return when(cores >= 12 && mem >= 125, 2.89)
	}},
	{"resnet18", []float64{.37, .72, 1, 1.3, 1.53, 1.75, 2.4, 2.4, 2.4}, nil},
	{"m5", []float64{.3, .66, 1, 1.2, 1.4, 1.5, 1.5, 1.5, 1.5}, func(cores, mem float64) float64 {
		return max(when(cores >= 6 && mem >= 125, 2), when(cores >= 6 && mem >= 187.5, 2.5))
	}},
	{"mobilenet", []float64{.37, .72, 1, 1.3, 1.49, 1.55, 1.55, 1.55, 1.55}, nil},
	{"resnet50", []float64{.4, .74, 1, 1.15, 1.15, 1.15, 1.15, 1.15, 1.15}, nil},
	{"deepspeech", []float64{.3, .66, 1, 1, 1, 1, 1, 1, 1}, nil},
	{"gnmt", nil, nil},
	{"transformer", nil, nil},
	{"lstm", nil, nil},
	{"bert", nil, nil},
	{"vae", nil, nil},
}

func when(is bool, speed float64) float64 {
	if is {
		return speed
	}
	return 0
}

// at returns the cell of a row and a column.
func (m *matrix) at(row, column int) float64 {
	if m.byRow == nil {
		return 1
	}
	if column == 0 {
		return thrash
	}
	if m.except != nil {
		if speed := m.except(synergyCores[row], synergyMem[column]); speed > 0 {
			return speed
		}
	}
	return m.byRow[row]
}
