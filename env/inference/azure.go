package inference

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/clustergym/clustergym/internal/unpack"
)

var azureFields = []string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"}

// ReadAzure reads the request rates from a trace of Azure's LLM inference, plain or gzip: a header and one row per request,
// TIMESTAMP,ContextTokens,GeneratedTokens, in order of time (Patel et al., ISCA 2024; Azure/AzurePublicDataset, CC BY 4.0). It
// returns requests per second for bins of the given length; the first bin begins with the first request. The trace ends within
// the last bin, so the rate of that bin is too low. The published conversation trace is one hour long, with bursts and without a
// daily cycle.
func ReadAzure(file string, bin time.Duration) (Series, error) {
	f, err := os.Open(file)
	if err != nil {
		return Series{}, fmt.Errorf("open demand trace: %w", err)
	}
	defer f.Close()
	return readAzureFrom(f, file, bin)
}

// readAzureFrom does the work of ReadAzure on the bytes of src. The parameter name is the file's name in errors.
func readAzureFrom(src io.Reader, name string, bin time.Duration) (Series, error) {
	if bin < time.Millisecond || bin > 365*day {
		return Series{}, fmt.Errorf("%s: bins of %v, want 1ms to a year", name, bin)
	}
	in, err := unpack.NewReader(src, maxBytes, errLimit)
	if err != nil {
		return Series{}, fmt.Errorf("%s: %w", name, err)
	}
	s := Series{Step: bin}
	var first, last time.Time
	one := 1 / bin.Seconds()
	err = eachRow(in, name, azureFields, func(r *row) error {
		if r.number == 1 {
			for i, want := range azureFields {
				if r.fields[i] != want {
					return r.errorf("header field %d: value %.80q, want %q", i+1, r.fields[i], want)
				}
			}
			return nil
		}
		at, err := time.Parse("2006-01-02 15:04:05", r.fields[0]) // also accepts a fraction of a second
		if err != nil {
			return r.bad(0, "YYYY-MM-DD HH:MM:SS with a decimal fraction")
		}
		for _, i := range [...]int{1, 2} {
			if _, err := r.count(i, 1<<32); err != nil {
				return err
			}
		}
		if first.IsZero() {
			first, last = at, at
		}
		if at.Before(last) {
			return r.bad(0, "no earlier time than the row before, "+last.Format(time.DateTime+".0000000"))
		}
		last = at
		i := at.Sub(first) / bin
		if i >= maxBins {
			return r.errorf("%w: more than %d bins of %v", errLimit, maxBins, bin)
		}
		for len(s.Values) <= int(i) {
			s.Values = append(s.Values, 0)
		}
		s.Values[i] += one
		return nil
	})
	if err != nil {
		return Series{}, err
	}
	if len(s.Values) == 0 {
		return Series{}, fmt.Errorf("%s: no requests, want the header %v and rows", name, azureFields)
	}
	return s, nil
}
