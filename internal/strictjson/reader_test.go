package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/strictjson"
)

// node is a node of the tree that the tests read.
type node struct {
	Number int64  `json:"n" tree:"n,need,-1000..most"`
	Text   string `json:"s" tree:"s,text"`
	Flag   bool   `json:"f" tree:"f"`
	List   []node `json:"l" tree:"l,most=5"`
}

func (v *node) Check(r *strictjson.Reader, _ uint32) {
	if v.Flag && v.Number < 0 {
		r.Bad("n", fmt.Sprint(v.Number), "at least 0 beside f")
	}
}

const mostText = 20

func readText(r *strictjson.Reader, most int) string {
	s, ok := r.String(most)
	if !ok {
		r.Refuse(fmt.Sprintf("text of at most %d bytes", most))
	}
	return s
}

var trees = strictjson.Format{
	Key: "tree", Limits: map[string]int64{"most": 1000},
	Kinds: map[string]strictjson.Kind{
		"text": strictjson.As(func(r *strictjson.Reader, to *string) { *to = readText(r, mostText) }),
	},
}

func read(text string) (v node, r *strictjson.Reader) {
	r = trees.New([]byte(text), nil)
	r.Struct(&v)
	r.End()
	return v, r
}

func TestWhatIsWrongIsToldWithItsPlace(t *testing.T) {
	for _, c := range []struct {
		text string
		line int
		want string
	}{
		{`{"n":1001}`, 1, "n: 1001, want a whole number from -1000 to 1000"},
		{`{"n":-1001}`, 1, "n: -1001, want a whole number"},
		{`{"n":99999999999999999999}`, 1, "n: 99999999999999999999, want a whole number"},
		{`{"n":1.0}`, 1, "n: 1.0, want a whole number"},
		{`{"n":02}`, 1, "n: 02, want a whole number"},
		{`{"n":-02}`, 1, "n: -02, want a whole number"},
		{`{"n":"x"}`, 1, `n: "x", want a whole number`},
		{`{"n":}`, 1, "n: }, want a whole number"},
		{`{}`, 1, "n: missing, want a whole number from -1000 to 1000"},
		{"{\n\"n\":1,\n\"s\":7}", 3, "s: 7, want text of at most 20 bytes"},
		{`{"n":1,"s":"123456789012345678901"}`, 1, `s: "123456789012345678901", want text of at most 20 bytes`},
		{`{"n":1,"s":"` + strings.Repeat(`\u0061`, 21) + `"}`, 1, `s: "\u0061\u0061`},
		{`{"n":1,"f":null}`, 1, "f: null, want true or false"},
		{`{"n":1,"l":{}}`, 1, "l: {}}, want a list of at most 5"},
		{`{"n":1,"l":[{"n":1},{"n":2,"l":[{"n":3,"s":[]}]}]}`, 1, "l[1].l[0].s: []}]}]}, want text"},
		{`{"n":1,"l":[1]}`, 1, "l[0]: 1, want an object"},
		{`{"n":1,"l":[{"n":1},{}]}`, 1, "l[1].n: missing"},
		{`{"n":1,"l":[{"n":1},{"n":1},{"n":1},{"n":1},{"n":1},"x"]}`, 1, `l[5]: "x", want a list of at most 5`},
		{`{"n":1,"x":1}`, 1, "x: unknown field"},
		{`{"n":1,"l":[{"":1}]}`, 1, `l[0]."": unknown field`},
		{`{"n":1,"` + strings.Repeat("k", 1000) + `":1}`, 1, strings.Repeat("k", 77) + "...: unknown field"},
		{"{\"n\":1,\"\x7f\u202e\":1}", 1, `\u007f\u202e: unknown field`},
		{"{\"n\":1,\n\"n\":1}", 2, "n: given twice"},
		{`{"n":1,"\u006e":1}`, 1, "n: given twice"},
		{`{"n":-1,"f":true}`, 1, "n: -1, want at least 0 beside f"},
		{`{"n":1,"l":[{"n":-1,"f":true}]}`, 1, "l[0].n: -1, want at least 0 beside f"},
		{`{"n":1} {}`, 1, "more text after the end: {}, want one JSON value"},
		{`{"n":1}]`, 1, "more text after the end: ]"},
		{`[]`, 1, "text: [], want an object"},
		{`hello`, 1, "text: hello, want an object"},
		{`{"n" 1}`, 1, "n: invalid character '1' after object name"},
		{``, 1, "unexpected EOF"},
		{" \n ", 2, "unexpected EOF"},
		{`{"n":1`, 1, "unexpected EOF"},
		{`{"n":1,"l":[{"n"`, 1, "l[0].n: unexpected EOF"},
		{"{\"n\":1,\n\"s\":\"\xff\"}", 2, "s: invalid UTF-8"},
		{`{"n":1,"s":"\ud800"}`, 1, "s: "},
		{`{"n":1,"l":` + strings.Repeat("[", 20_000), 1, "l[0]: [[["},
	} {
		_, r := read(c.text)
		if err := r.Err(); err == nil || !strings.HasPrefix(err.Error(), c.want) || r.Line() != c.line {
			t.Errorf("%.80q: line %d: %v, want line %d: %s", c.text, r.Line(), err, c.line, c.want)
		} else if len(err.Error()) > 300 {
			t.Errorf("%.80q: an error of %d bytes", c.text, len(err.Error()))
		}
	}
}

func TestAnUnfinishedTextIsTold(t *testing.T) {
	const whole = `{"n":1,"s":"a\"\u00e9","f":true,"l":[{"n":2}]}`
	for i := range whole {
		if _, r := read(whole[:i]); !errors.Is(r.Err(), io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v, want an unexpected EOF", whole[:i], r.Err())
		}
	}
}

// TestSkippedValuesAreReadLater checks that skipped values can be read later, in any order.
func TestSkippedValuesAreReadLater(t *testing.T) {
	names := []string{"list", "number", "text"}
	var at [3]strictjson.Place
	r := strictjson.New([]byte("{\"list\" : [ [], {\"x\":[1]}, 7 ],\n\"text\":\"a\", \"number\": 3}"))
	seen := r.Object(names, 0b111, func(field int) { at[field] = r.Skip() })
	r.End()
	if r.Err() != nil || seen != 0b111 || at[0].Elements != 3 {
		t.Fatalf("saw %b, %d elements, %v", seen, at[0].Elements, r.Err())
	}
	r.Return("number", at[1])
	n := r.Number(0, 10)
	r.Return("text", at[2])
	if s := readText(r, 9); n != 3 || s != "a" || r.Err() != nil {
		t.Errorf("%d, %q, %v", n, s, r.Err())
	}
	r.Return("text", at[2])
	if r.Number(0, 1); r.Err() == nil || r.Err().Error() != `text: "a", want a whole number from 0 to 1` || r.Line() != 2 {
		t.Errorf("line %d: %v", r.Line(), r.Err())
	}
}

// TestSeveralValues checks that values that stand one after the other are found.
func TestSeveralValues(t *testing.T) {
	r := strictjson.New([]byte("{\"n\":1}\n[{\"n\":2}]{} \n"))
	all := r.Values(3)
	if r.Err() != nil || len(all) != 3 {
		t.Fatalf("%d values, %v", len(all), r.Err())
	}
	r.Return("", all[1])
	if !r.IsList() {
		t.Error("a list is none")
	}
	r.List(1, func(int) { r.Number(0, 1) })
	if err := r.Err(); err == nil || err.Error() != "[0]: {\"n\":2}]{} , want a whole number from 0 to 1" || r.Line() != 2 {
		t.Errorf("line %d: %v", r.Line(), err)
	}
	for text, want := range map[string]string{
		"": "unexpected EOF", " \n": "unexpected EOF", "{}[": "unexpected EOF", "{} {} {}": "more text after the end: {}, want at most 2 JSON values",
		"{} ]": "invalid character ']'", "{},{}": "invalid character ','",
	} {
		r := strictjson.New([]byte(text))
		if r.Values(2); r.Err() == nil || !strings.Contains(r.Err().Error(), want) {
			t.Errorf("%q: %v, want %s", text, r.Err(), want)
		}
	}
}

// FuzzReader checks that the reader returns the same values as encoding/json, or an error.
func FuzzReader(f *testing.F) {
	for _, text := range []string{
		`{"n":1,"s":"a\u00e9\n","f":false,"l":[{"n":-1000,"l":[]},{"n":1e0}]}`, `{"n":1,"n":2}`, `{"n":0,"` + strings.Repeat("k", 300) + `":[0]}`,
		`{"n":1,"l":[` + strings.Repeat(`{"":0},`, 50) + `{}]}`, `{"n":1,"l":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
		`{"n":02}`, `{"n":1`, `{"l":[{"n":1`, `{"n":1,"s":"` + strings.Repeat("x", 300), "{\"n\":\t1 ,\r\n\"f\":true}", "{\"n\":1,\"s\":\"\xff\"}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, r := read(text)
		if err := r.Err(); err != nil {
			if n := len(err.Error()); n > 1200 || r.Line() > 1+strings.Count(text, "\n") {
				t.Fatalf("line %d, %d bytes: %v", r.Line(), n, err)
			}
			return
		}
		var want node
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&want); err != nil {
			t.Fatalf("read %+v, encoding/json: %v", got, err)
		}
		if !equal(got, want) {
			t.Fatalf("read %+v, want %+v", got, want)
		}
		again := strictjson.New([]byte(text))
		if again.Skip(); again.Err() != nil {
			t.Fatalf("read, but not skipped: %v", again.Err())
		}
	})
}

func equal(a, b node) bool {
	return a.Number == b.Number && a.Text == b.Text && a.Flag == b.Flag && slices.EqualFunc(a.List, b.List, equal)
}

// TestFormatsThatAreReadInPart checks Fields, which skips what it does not know, and Map, which takes any name.
func TestFormatsThatAreReadInPart(t *testing.T) {
	read := func(text string) (n int64, all map[string]int64, err error) {
		r := strictjson.New([]byte(text))
		all = map[string]int64{}
		r.Fields([]string{"n", "m"}, 1, func(field int) {
			if field == 0 {
				n = r.Number(0, 9)
				return
			}
			r.Map(2, func(name string) { all[name] = r.Number(0, 9) })
		})
		r.End()
		return n, all, r.Err()
	}
	n, all, err := read(`{"x":[{"n":1}],"m":{"\u0061/b":1,"":2},"x":{},"n":3}`)
	if err != nil || n != 3 || len(all) != 2 || all["a/b"] != 1 || all[""] != 2 {
		t.Errorf("read %d, %v, %v", n, all, err)
	}
	for text, want := range map[string]string{
		`{"x":1}`:                             "n: missing, want a whole number from 0 to 9",
		`{"n":1,"x":2,"n":1}`:                 "n: given twice",
		`{"n":1,"x":[}`:                       "x[0]: ",
		`{"n":1,"x":`:                         "x: unexpected EOF",
		`{"n":1,"m":{"a":1,"b":2,"c":3}}`:     `m: "c", want an object of at most 2 fields`,
		`{"n":1,"m":{"a":{}}}`:                "m.a: {}}}, want a whole number",
		"{\"n\":1,\"m\":{\"\u202ea\":\"b\"}}": `m.\u202ea: "b", want a whole number`,
		`{"n":1,"m":{"":"b"}}`:                `m."": "b", want a whole number`,
		`{"n":1,"m":{"a"`:                     "m.a: unexpected EOF",
		`{"n":1,"m":[]}`:                      "m: []}, want an object of at most 2 fields",
		`[]`:                                  "text: [], want an object",
	} {
		if _, _, err := read(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// part is a part of a format of another program.
type part struct {
	Name  string  `part:"name|title,text"`
	Share float64 `part:"share,0..0.5"`
	Above float64 `part:"above"`
	Seed  uint64  `part:"seed"`
	Kind  uint8   `part:"kind,kind"`
	Rest  *rest   `part:"rest"`
	Own   rest    `part:",inline"`
	Other int
}

type rest struct {
	Small int32   `part:"small,need,-2..2"`
	List  []small `part:"list"`
}

type small struct {
	N int `part:"n"`
}

func (s *small) Preset() { s.N = 7 }

var parts = strictjson.Format{
	Key: "part", Most: "3", Partial: true,
	Kinds: map[string]strictjson.Kind{
		"text": strictjson.Texts(5, func(s string) bool { return s != "x" }, "a name"), "kind": strictjson.Words[uint8]("one", "two"),
	},
}

func TestStructsOfAFormatOfAnotherProgram(t *testing.T) {
	names := strictjson.Names("part", part{})
	if want := "name title share above seed kind rest small list"; strings.Join(names, " ") != want {
		t.Fatalf("fields %v, want %s", names, want)
	}
	var v part
	r := parts.New([]byte(`{"title":"a","other":[],"share":0.5,"above":null,"seed":18446744073709551615,"kind":"two",
		"rest":{"small":-2,"list":null},"small":1,"list":[null,{},{"n":3}]}`), nil)
	seen := r.Struct(&v)
	if want := strictjson.Bits(names, names...) &^ strictjson.Bits(names, "name", "above"); r.Err() != nil || seen != want {
		t.Errorf("saw %b, want %b, %v", seen, want, r.Err())
	}
	if v.Name != "a" || v.Share != 0.5 || v.Seed != 1<<64-1 || v.Kind != 1 || v.Rest.Small != -2 || v.Own.Small != 1 ||
		!slices.Equal(v.Own.List, []small{{7}, {3}}) {
		t.Errorf("read %+v", v)
	}
	for text, want := range map[string]string{
		`{}`:                                  "line 1: small: missing, want a whole number from -2 to 2",
		`{"small":null}`:                      "line 1: small: null, want a whole number from -2 to 2",
		"{\"small\":1,\n\"share\":0.6}":       "line 2: share: 0.6, want a number from 0 to 0.5",
		`{"small":1,"above":0}`:               "line 1: above: 0, want a number above 0",
		`{"small":1,"seed":-1}`:               "line 1: seed: -1, want a whole number from 0 to 18446744073709551615",
		`{"small":1,"kind":"three"}`:          `line 1: kind: "three", want one or two`,
		`{"small":1,"name":"x"}`:              `line 1: name: "x", want a name`,
		`{"small":1,"rest":{"small":3}}`:      "line 1: rest.small: 3, want a whole number from -2 to 2",
		`{"small":1,"list":[{},{},{},{}]}`:    "line 1: list[3]: {}]}, want a list of at most 3",
		`{"small":1,"list":[{"n":"a"}]} true`: `line 1: list[0].n: "a", want a whole number from 0 to 9223372036854775807`,
		`{"small":1} true`:                    "line 1: more text after the end: true, want one JSON value",
	} {
		if err := parts.Parse([]byte(text), nil, &part{}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
