package strictjson_test

import (
	"testing"

	"github.com/clustergym/clustergym/internal/strictjson"
	"github.com/google/go-cmp/cmp"
)

// written has a field of each kind that a format writes.
type written struct {
	ID      int64     `w:"id,need"`
	Always  string    `w:"always,say,text"`
	Some    string    `w:"some,text"`
	Level   uint8     `w:"level,word"`
	Pair    [2]int32  `w:"pair,need"`
	Numbers []float64 `w:"numbers,0..,most=9"`
	Small   []float32 `w:"small,most=9"`
	Below   *below    `w:"below,line"`
	Rows    []below   `w:"rows,most=9,lines"`
	Twice   half      `w:"twice,half"`
	Not     int       // not part of the format
}

type below struct {
	Flag bool   `w:"flag"`
	Seed uint64 `w:"seed"`
}

// half is written as twice the number.
type half int64

// TestStructsAreWrittenAndReadBack checks the text of structs, which fields it leaves out, and that reading it gives equal structs.
func TestStructsAreWrittenAndReadBack(t *testing.T) {
	f := strictjson.Format{Key: "w", Kinds: map[string]strictjson.Kind{
		"text": strictjson.Texts(20, func(string) bool { return true }, "a short text"),
		"word": strictjson.Words[uint8]("no", "yes"),
		"half": strictjson.Both(func(r *strictjson.Reader, to *half) { *to = half(r.Number(0, 100) / 2) },
			func(b []byte, from *half) []byte { return strictjson.AppendInt(b, "", int64(2**from)) }),
	}}
	for _, c := range []struct {
		v    written
		text string
	}{
		{written{}, `{"id":0,"always":"","pair":[0,0]}`},
		{written{Below: &below{}, Rows: []below{{}, {true, 1 << 63}}}, `{"id":0,"always":"","pair":[0,0],` + "\n" + `"below":{},"rows":[` +
			"\n{},\n" + `{"flag":true,"seed":9223372036854775808}]}`},
		{written{ID: 7, Always: "é", Some: `"<`, Level: 1, Pair: [2]int32{1, 2}, Numbers: []float64{0, 1e-7, 2.5}, Small: []float32{-.1, 3e38}, Twice: 21},
			`{"id":7,"always":"é","some":"\"\u003c","level":"yes","pair":[1,2],"numbers":[0,1e-07,2.5],"small":[-0.1,3e+38],"twice":42}`},
	} {
		if got := string(f.Append(nil, &c.v)); got != c.text {
			t.Errorf("written\n%s\nwant\n%s", got, c.text)
		}
		var back written
		if err := f.Parse([]byte(c.text), nil, &back); err != nil || !cmp.Equal(back, c.v) {
			t.Errorf("%s was read as %+v: %v", c.text, back, err)
		}
	}
	if err := f.Parse([]byte(`{"id":0,"pair":[1,2],"small":[1e39]}`), nil, new(written)); err == nil || err.Error() !=
		"line 1: small[0]: 1e39, want a number of 32 bits" {
		t.Errorf("a number that is too large: %v", err)
	}
	if err := f.Parse([]byte(`{"id":0,"pair":[1]}`), nil, new(written)); err == nil || err.Error() != "line 1: pair: a list of 1, want 2" {
		t.Errorf("a list that is too short: %v", err)
	}
}
