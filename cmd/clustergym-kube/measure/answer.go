package measure

import (
	"fmt"
	"maps"
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

// answer is an answer of the query API of Prometheus: a vector whose samples have the labels namespace and pod.
type answer struct {
	Status string `answer:"status,need,status"`
	Error  string `answer:"error,complaint"`
	Data   *struct {
		Type    string       `answer:"resultType,need,vector"`
		Samples []sampleText `answer:"result,need,most=mostSamples"`
	} `answer:"data"`
}

type sampleText struct {
	Pod    Pod    `answer:"metric,need,labels"`
	Sample Sample `answer:"value,need,pair"`
}

var answers = strictjson.Format{
	Key: "answer", Partial: true, Limits: map[string]int64{"mostSamples": mostSamples},
	Kinds: map[string]strictjson.Kind{
		"status": strictjson.As(func(r *strictjson.Reader, to *string) {
			*to = []string{"success", "error"}[r.OneOf("success", "error")]
		}),
		"complaint": strictjson.As(func(r *strictjson.Reader, to *string) {
			s, ok := r.String(mostAnswer)
			if *to = s[:min(len(s), longestText)]; !ok {
				r.Refuse("a text")
			}
		}),
		"vector": strictjson.As(func(r *strictjson.Reader, _ *string) { r.OneOf("vector") }),
		"labels": strictjson.As(func(r *strictjson.Reader, to *Pod) { *to = parseLabels(r) }),
		"pair":   strictjson.As(func(r *strictjson.Reader, to *Sample) { *to = parseValue(r) }),
	},
}

// parseAnswer reads an answer. It leaves out pods without a throughput above 0, and pods with several samples, of which none is
// known to be right.
func parseAnswer(text []byte) (map[Pod]Sample, error) {
	if len(text) > mostAnswer {
		return nil, fmt.Errorf("%d bytes, want at most %d", len(text), mostAnswer)
	}
	var a answer
	r := answers.New(text, nil)
	r.Struct(&a)
	r.End()
	switch {
	case r.Err() != nil:
		return nil, r.Err()
	case a.Status != "success":
		return nil, fmt.Errorf("the server says %q", a.Error)
	case a.Data == nil:
		return nil, fmt.Errorf("data: missing")
	}
	all, count := map[Pod]Sample{}, map[Pod]int{}
	for _, s := range a.Data.Samples {
		if s.Pod.Namespace != "" && s.Pod.Name != "" {
			count[s.Pod]++
			all[s.Pod] = s.Sample
		}
	}
	maps.DeleteFunc(all, func(pod Pod, s Sample) bool { return count[pod] > 1 || !plausible(s.Speed) })
	return all, nil
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
