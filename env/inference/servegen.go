package inference

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/clustergym/clustergym/internal/unpack"
)

// serveGenStep is the length of the bins of ServeGen's rates.
const serveGenStep = 10 * time.Minute

// serveGenGap is the fraction of the mean below which a bin of ServeGen's totals counts as a gap in the measurements.
const serveGenGap = 0.1

var serveGenFields = []string{"start", "rate", "cv", "distribution", "parameter 1", "parameter 2"}

// ReadServeGen reads the request rates of one model from a .tar.gz of ServeGen's chunk-*.csv files, one per client (Xiang et al.,
// arXiv:2505.09999; alibaba/ServeGen, Apache-2.0). The files have no header. The columns are the start of the 600 s bin in
// seconds, requests per second, coefficient of variation of the gaps between requests, and the name and two parameters of the
// distribution of these gaps. Starts ascend, and a bin without a row has no traffic. The result is the sum over all clients, its
// gaps filled by FillGaps(0.1). Time 0 is the first bin; date and time zone are not published.
func ReadServeGen(file string) (Series, error) {
	f, err := os.Open(file)
	if err != nil {
		return Series{}, fmt.Errorf("open demand trace: %w", err)
	}
	defer f.Close()
	return readServeGenFrom(f, file)
}

// readServeGenFrom does the work of ReadServeGen on the bytes of src. The parameter name is the file's name in errors.
func readServeGenFrom(src io.Reader, name string) (Series, error) {
	in, err := unpack.NewReader(src, maxBytes, errLimit)
	if err != nil {
		return Series{}, fmt.Errorf("%s: %w", name, err)
	}
	totals := Series{Step: serveGenStep}
	seen := map[string]bool{}
	for archive := tar.NewReader(in); ; {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Series{}, fmt.Errorf("%s: read archive: %w", name, err)
		}
		place := fmt.Sprintf("%s: %.80q", name, entry.Name)
		switch base := path.Base(entry.Name); {
		case entry.Typeflag == tar.TypeDir || entry.Typeflag == tar.TypeXGlobalHeader:
			continue
		case entry.Typeflag != tar.TypeReg || !strings.HasPrefix(base, "chunk-") || !strings.HasSuffix(base, ".csv"):
			return Series{}, fmt.Errorf("%s: not a file chunk-*.csv", place)
		case seen[entry.Name]:
			return Series{}, fmt.Errorf("%s: stands twice in the archive", place)
		case len(seen) == maxEntries:
			return Series{}, fmt.Errorf("%s: %w: more than %d entries", place, errLimit, maxEntries)
		}
		seen[entry.Name] = true
		if err := totals.addChunk(archive, place); err != nil {
			return Series{}, err
		}
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // reads to the end, where the checksum is
		return Series{}, fmt.Errorf("%s: %w", name, err)
	}
	if len(totals.Values) == 0 {
		return Series{}, fmt.Errorf("%s: no rows in %d files chunk-*.csv", name, len(seen))
	}
	return totals.FillGaps(serveGenGap), nil
}

// addChunk adds the rates of one client to s.
func (s *Series) addChunk(src io.Reader, place string) error {
	step := int64(s.Step / time.Second)
	next := int64(0)
	return eachRow(src, place, serveGenFields, func(r *row) error {
		start, err := r.count(0, (maxBins-1)*step)
		if err != nil {
			return err
		}
		if start%step != 0 || start < next*step {
			return r.bad(0, fmt.Sprintf("a multiple of %d, at least %d", step, next*step))
		}
		rate, err := r.float(1, maxRate)
		if err != nil {
			return err
		}
		for _, i := range [...]int{2, 4, 5} {
			if _, err := r.float(i, maxRate); err != nil {
				return err
			}
		}
		if d := r.fields[3]; d != "" && d != "Gamma" && d != "Weibull" {
			return r.bad(3, "Gamma, Weibull or nothing")
		}
		bin := int(start / step)
		next = start/step + 1
		for len(s.Values) <= bin {
			s.Values = append(s.Values, 0)
		}
		s.Values[bin] += rate
		return nil
	})
}
