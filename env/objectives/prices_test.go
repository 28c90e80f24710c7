package objectives

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

// TestPricesOfAFile checks that prices in a file beside the objective are the same as in the objective, and part of its text.
func TestPricesOfAFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Do(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	text := "name: x\n# a remark\nterms:\n  - {cost: wait, price: 1/h}\n  - {cost: gpu_time, price: 1/h, prices: prices/day.csv}\n"
	path := write("x.yaml", text)
	write("x.yaml", strings.ReplaceAll(text, "\n", "\r\n"))
	write("prices/day.csv", "\ufeffHour,Price\r\n0,0.5\r\n07:00, 2\r\n22,5e-1\r\n")
	o := must.Get(Open(path))(t)
	if want := map[int]float64{0: 0.5, 7: 2, 22: 0.5}; !reflect.DeepEqual(o.Terms[1].Prices, want) {
		t.Errorf("prices %v, want %v", o.Terms[1].Prices, want)
	}
	again := must.Get(Read(strings.NewReader(o.Text())))(t)
	if plain := must.Get(Read(strings.NewReader("name: x\r\nterms: [{cost: stop, price: 1}]\r\n")))(t); strings.Contains(plain.Text(), "\r") {
		t.Errorf("the text %q keeps carriage returns", plain.Text())
	}
	if !reflect.DeepEqual(again.Terms, o.Terms) || strings.Contains(o.Text(), "\r") || !strings.Contains(o.Text(), "prices: {0: 0.5, 7: 2, 22: 0.5}") {
		t.Errorf("the text does not say all: %s", o.Text())
	}
	for file, want := range map[string]string{
		"":                        "day.csv: no row",
		"hour,price\n":            "day.csv: no row",
		"time,price\n0,1\n":       `day.csv:1: "time,price", want the header hour,price`,
		"hour,price\n0,1\n24,1\n": `day.csv:3: hour "24", want 0 to 23, each once`,
		"hour,price\n5,1\n5,1\n":  `day.csv:3: hour "5"`,
		"hour,price\n5,cheap\n":   `day.csv:2: price "cheap", want a number from 0 to 1e+09`,
		"hour,price\n5,-1\n":      `day.csv:2: price "-1"`,
		"hour,price\n5,nan\n":     `day.csv:2: price "nan"`,
		"hour,price\n5,1,2\n":     "record on line 2: wrong number of fields",
		"hour,price\n" + strings.Repeat("5,1\n", 1<<16): `day.csv:3: hour "5"`,
	} {
		write("prices/day.csv", file)
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line 5: prices: ") {
			t.Errorf("%.40q: error %v, want %s", file, err, want)
		}
	}
	must.Do(t, os.RemoveAll(filepath.Join(dir, "prices")))
	if _, err := Open(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
}
