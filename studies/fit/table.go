package fit

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// WriteTable writes the residuals as Markdown tables: the generated part of studies/physics-fit.md.
func (r *Result) WriteTable(w io.Writer) error {
	var b strings.Builder
	r.pairTable(&b)
	r.memoryTable(&b)
	r.surfaceTable(&b)
	r.scalingTable(&b)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write table of residuals: %w", err)
	}
	return nil
}

func (r *Result) pairTable(b *strings.Builder) {
	fmt.Fprintf(b, "### Two jobs on one GPU (Gavel)\n\nSpeed beside a partner, alone = 1. Held out: %d folds, both directions "+
		"of two jobs in one fold,\nmean of %d divisions. Each cell: mean absolute error / R².\n\n", folds, divisions)
	b.WriteString("| GPU | pairs | constant, held out | rank 1, held out | rank 2, held out | rank 3, held out | " +
		"rank 2, fitted |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, p := range r.Pairs {
		fmt.Fprintf(b, "| %s | %d |", p.GPU, p.Pairs)
		for _, e := range append(slices.Clip(p.HeldOut), p.Fitted) {
			fmt.Fprintf(b, " %.3f / %.2f |", e.MAE, math.Round(100*e.R2)/100+0) // + 0 turns -0 into 0
		}
		b.WriteByte('\n')
	}
}

func (r *Result) memoryTable(b *strings.Builder) {
	b.WriteString("\n### Memory on the GPU (Gavel)\n\nPairs that the estimated sizes judge as Gavel found them, of all such " +
		"pairs.\n\n| GPU | MiB | fit together | do not fit |\n|---|---:|---:|---:|\n")
	for i, m := range r.Memory {
		fmt.Fprintf(b, "| %s | %.0f | %d of %d | %d of %d |\n", m.GPU, cardMiB[i], m.FitRight, m.Fit, m.RefuseRight, m.Refused)
	}
}

func (r *Result) surfaceTable(b *strings.Builder) {
	fmt.Fprintf(b, "\n### CPU cores and host memory (Synergy)\n\nRelative error of the speed over the %d cells of each table; the "+
		"speed with all that helps, fair share = 1.\n\n", len(synergyCores)*len(synergyMem))
	b.WriteString("| model | largest | mean | most speed, table | most speed, fitted |\n|---|---:|---:|---:|---:|\n")
	row, column := len(synergyCores)-1, len(synergyMem)-1
	for i, s := range r.Surfaces {
		fmt.Fprintf(b, "| %s | %s | %s | %.2f | %.2f |\n", s.Model, percent(s.Max), percent(s.Mean), matrices[i].at(row, column),
			s.Surface.At(synergyCores[row], synergyMem[column]))
	}
}

func (r *Result) scalingTable(b *strings.Builder) {
	fmt.Fprintf(b, "\n### Step time over replicas and servers (Pollux)\n\nRelative error of the step time, median / 90th "+
		"percentile. Held out: %d folds over the shapes of gangs\n(servers and replicas); steps of one replica are dealt out one by "+
		"one.\n\n", folds)
	b.WriteString("| application | steps, 1 server | fitted | held out | steps, several | fitted | held out |\n" +
		"|---|---:|---:|---:|---:|---:|---:|\n")
	for _, s := range r.Scalings {
		fmt.Fprintf(b, "| %s | %d | %s | %s | %d | %s | %s |\n", s.Application, s.Fitted.One.Steps, s.Fitted.One, s.HeldOut.One,
			s.Fitted.Several.Steps, s.Fitted.Several, s.HeldOut.Several)
	}
}

// String returns the median and the 90th percentile in percent.
func (e StepError) String() string { return percent(e.P50) + " / " + percent(e.P90) }

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
