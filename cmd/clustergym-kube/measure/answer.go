package measure

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/internal/strictjson"
)

// The limits of an answer to a query.
const (
	mostAnswer  = 32 << 20 // bytes
	mostSamples = 100_000
	mostLabels  = 64   // of a sample
	longestText = 1024 // bytes of a label
	mostSeconds = 1e11 // of an instant
)

// Sample is the throughput of a pod, as a query returns it.
type Sample struct {
	Speed float64
	At    time.Time
}

// Pod names a pod.
type Pod struct{ Namespace, Name string }

var (
	answerFields = []string{"status", "error", "data"}
	dataFields   = []string{"resultType", "result"}
	sampleFields = []string{"metric", "value"}
)

// parseAnswer reads an answer of the query API of Prometheus: a vector whose samples have the labels namespace and pod. It leaves
// out pods without a throughput above 0, and pods with several samples, of which none is known to be right.
func parseAnswer(text []byte) (map[Pod]Sample, error) {
	if len(text) > mostAnswer {
		return nil, fmt.Errorf("%d bytes, want at most %d", len(text), mostAnswer)
	}
	r := strictjson.New(text)
	all, twice := map[Pod]Sample{}, map[Pod]bool{}
	status, complaint, hasData := "", "", false
	r.Fields(answerFields, strictjson.Bits(answerFields, "status"), func(field int) {
		switch answerFields[field] {
		case "status":
			status = []string{"success", "error"}[r.OneOf("success", "error")]
		case "error":
			if s, ok := r.String(mostAnswer); ok {
				complaint = s[:min(len(s), longestText)]
			} else {
				r.Refuse("a text")
			}
		case "data":
			hasData = true
			parseData(r, func(pod Pod, s Sample) {
				if _, known := all[pod]; known {
					twice[pod] = true
				}
				all[pod] = s
			})
		}
	})
	r.End()
	switch {
	case r.Err() != nil:
		return nil, r.Err()
	case status != "success":
		return nil, fmt.Errorf("the server says %q", complaint)
	case !hasData:
		return nil, fmt.Errorf("data: missing")
	}
	for pod := range twice {
		delete(all, pod)
	}
	for pod, s := range all {
		if !plausible(s.Speed) {
			delete(all, pod)
		}
	}
	return all, nil
}

func parseData(r *strictjson.Reader, add func(Pod, Sample)) {
	r.Fields(dataFields, strictjson.Bits(dataFields, dataFields...), func(field int) {
		if dataFields[field] == "resultType" {
			r.OneOf("vector")
			return
		}
		r.List(mostSamples, func(int) {
			pod, s := Pod{}, Sample{}
			r.Fields(sampleFields, strictjson.Bits(sampleFields, sampleFields...), func(field int) {
				if sampleFields[field] == "metric" {
					pod = parseLabels(r)
				} else {
					s = parseValue(r)
				}
			})
			if pod.Namespace != "" && pod.Name != "" && r.Err() == nil {
				add(pod, s)
			}
		})
	})
}

// parseLabels reads the labels of a sample.
func parseLabels(r *strictjson.Reader) (pod Pod) {
	r.Map(mostLabels, func(name string) {
		value, ok := r.String(longestText)
		if !ok {
			r.Refuse(fmt.Sprintf("a text of at most %d bytes", longestText))
		}
		switch name {
		case "namespace":
			pod.Namespace = value
		case "pod":
			pod.Name = value
		}
	})
	return pod
}

// parseValue reads a pair of an instant, in seconds, and a number in quotes. Its speed is 0 if the number is not finite.
func parseValue(r *strictjson.Reader) (s Sample) {
	n := r.List(2, func(i int) {
		if i == 0 {
			seconds := r.Float(0, mostSeconds)
			s.At = time.UnixMilli(int64(math.Round(seconds * 1000)))
			return
		}
		text, ok := r.String(longestReport)
		speed, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil && !math.IsInf(speed, 0) {
			r.Refuse("a number in quotes")
		}
		s.Speed = speed
	})
	if n != 2 && r.Err() == nil {
		r.Refuse("a pair of an instant and a value")
	}
	return s
}
