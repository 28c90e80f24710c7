package measure

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

// vector is an answer with the given samples.
func vector(samples ...string) string {
	return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(samples, ",") + `],"stats":{}},"warnings":["w"]}`
}

// sample is a sample of a pod, whose value is given as in JSON.
func sample(namespace, pod, value string) string {
	return fmt.Sprintf(`{"metric":{"__name__":"x","namespace":%q,"pod":%q,"job":"j"},"value":[1780315200.5,%s]}`, namespace, pod, value)
}

func TestAnswers(t *testing.T) {
	at := noon.Add(500 * time.Millisecond)
	for _, c := range []struct {
		name, text string
		want       map[Pod]Sample
		err        string
	}{
		{"two pods", vector(sample("a", "p", `"12.5"`), sample("b", "p", `"1e3"`)),
			map[Pod]Sample{{"a", "p"}: {12.5, at}, {"b", "p"}: {1000, at}}, ""},
		{"none", vector(), map[Pod]Sample{}, ""},
		{"values that are no throughput", vector(sample("a", "p", `"NaN"`), sample("a", "q", `"+Inf"`), sample("a", "r", `"0"`), sample("a", "s", `"1e999"`)),
			map[Pod]Sample{}, ""},
		{"a pod twice", vector(sample("a", "p", `"1"`), sample("a", "p", `"2"`), sample("a", "q", `"3"`)), map[Pod]Sample{{"a", "q"}: {3, at}}, ""},
		{"a pod three times", vector(sample("a", "p", `"1"`), sample("a", "p", `"2"`), sample("a", "p", `"3"`)), map[Pod]Sample{}, ""},
		{"a sample of no pod", vector(`{"metric":{},"value":[1,"2"]}`), map[Pod]Sample{}, ""},
		{"an error", `{"status":"error","errorType":"bad_data","error":"parse error"}`, nil, `the server says "parse error"`},
		{"a matrix", `{"status":"success","data":{"resultType":"matrix","result":[]}}`, nil, `data.resultType: "matrix", want vector`},
		{"a scalar in place of a list", `{"status":"success","data":{"resultType":"vector","result":[1,"2"]}}`, nil, "data.result[0]"},
		{"no data", `{"status":"success"}`, nil, "data: missing"},
		{"no status", `{}`, nil, "status: missing"},
		{"a number without quotes", vector(sample("a", "p", `12`)), nil, "data.result[0].value[1]: 12, want a number in quotes"},
		{"a word", vector(sample("a", "p", `"fast"`)), nil, `data.result[0].value[1]: "fast", want a number in quotes`},
		{"an instant alone", vector(`{"metric":{},"value":[1]}`), nil, "want a pair of an instant and a value"},
		{"a pair of three", vector(`{"metric":{},"value":[1,"2",3]}`), nil, "data.result[0].value"},
		{"a time before all", vector(`{"metric":{},"value":[-1,"2"]}`), nil, "data.result[0].value[0]: -1"},
		{"a long label", vector(sample("a", strings.Repeat("p", 1025), `"1"`)), nil, "want a text of at most 1024 bytes"},
		{"not JSON", "<html>", nil, "<html>, want an object"},
		{"more text", vector() + "{}", nil, "more text after the end"},
	} {
		got, err := parseAnswer([]byte(c.text))
		if c.err == "" && (err != nil || !maps.EqualFunc(got, c.want, func(a, b Sample) bool { return a.Speed == b.Speed && a.At.Equal(b.At) })) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.err)
		}
	}
	many := vector(strings.Repeat(`{"metric":{},"value":[1,"2"]},`, mostSamples) + `{"metric":{},"value":[1,"2"]}`)
	if _, err := parseAnswer([]byte(many)); err == nil {
		t.Error("too many samples are accepted")
	}
	if _, err := parseAnswer(make([]byte, mostAnswer+1)); err == nil {
		t.Error("a text that is too long is accepted")
	}
}

// FuzzAnswer checks that every sample of an accepted answer is of a named pod and can be a throughput.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(vector(sample("a", "p", `"12.5"`), sample("a", "q", `"NaN"`))))
	f.Add([]byte(`{"status":"error","error":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseAnswer(text)
		if err != nil && len(all) > 0 {
			t.Fatalf("%v with %v", err, all)
		}
		for pod, s := range all {
			if pod.Name == "" || pod.Namespace == "" || !plausible(s.Speed) {
				t.Fatalf("%v: %v", pod, s)
			}
		}
	})
}
