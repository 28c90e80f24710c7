// Package parquet writes the results of an evaluation as a Parquet file with one row for each case, for DuckDB, pandas or polars.
// Columns have the names and units of the JSON lines.
package parquet

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/eval"
)

// Write writes the results. Equal results give equal bytes. The cost by an objective is a column of the name of its metric.
func Write(w io.Writer, results []eval.Result) error {
	columns := columnsOf(reflect.TypeFor[eval.Result](), nil)
	if len(results) > 0 {
		costs, _ := reflect.TypeFor[eval.Result]().FieldByName("Costs")
		total, _ := reflect.TypeFor[objectives.Bill]().FieldByName("Total")
		for i, c := range results[0].Costs {
			columns = append(columns, column{eval.CostKey(c.Objective), costs.Index, nodeOf(total.Type), i})
		}
	}
	// A Parquet group sorts its columns by name.
	slices.SortFunc(columns, func(a, b column) int { return strings.Compare(a.name, b.name) })
	group := parquet.Group{}
	for _, c := range columns {
		group[c.name] = c.node
	}
	out := parquet.NewWriter(w, parquet.NewSchema("results", group), parquet.Compression(&parquet.Zstd))
	rows := make([]parquet.Row, len(results))
	for i := range results {
		v := reflect.ValueOf(&results[i]).Elem()
		for k, c := range columns {
			field := v.FieldByIndex(c.path)
			if costs, ok := reflect.TypeAssert[[]objectives.Bill](field); ok {
				field = reflect.ValueOf(costs[c.cost].Total)
			}
			rows[i] = c.append(rows[i], field, k)
		}
	}
	if _, err := out.WriteRows(rows); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}

// column is a field of a result.
type column struct {
	name string
	path []int // index for reflect.Value.FieldByIndex
	node parquet.Node
	cost int // the index of an objective
}

// columnsOf lists the fields that JSON encodes. It replaces embedded structs by their fields.
func columnsOf(t reflect.Type, path []int) []column {
	var all []column
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(path), i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			all = append(all, columnsOf(f.Type, at)...)
		case name != "-" && f.Type != reflect.TypeFor[[]objectives.Bill]():
			all = append(all, column{name, at, nodeOf(f.Type), 0})
		}
	}
	return all
}

func nodeOf(t reflect.Type) parquet.Node {
	switch t.Kind() {
	case reflect.String:
		return parquet.String()
	case reflect.Int:
		return parquet.Int(64)
	case reflect.Uint64:
		return parquet.Uint(64)
	case reflect.Float64:
		return parquet.Leaf(parquet.DoubleType)
	case reflect.Slice:
		return parquet.Repeated(nodeOf(t.Elem()))
	}
	panic(fmt.Sprintf("parquet: no column for a result's %v", t))
}

// append appends the column's value, or values, to a row.
func (c *column) append(row parquet.Row, v reflect.Value, index int) parquet.Row {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			row = append(row, parquet.DoubleValue(v.Index(i).Float()).Level(min(i, 1), 1, index))
		}
		if v.Len() == 0 {
			row = append(row, parquet.Value{}.Level(0, 0, index))
		}
		return row
	case reflect.Int:
		return append(row, parquet.Int64Value(v.Int()).Level(0, 0, index))
	case reflect.Uint64:
		return append(row, parquet.Int64Value(int64(v.Uint())).Level(0, 0, index))
	case reflect.Float64:
		return append(row, parquet.DoubleValue(v.Float()).Level(0, 0, index))
	}
	return append(row, parquet.ByteArrayValue([]byte(v.String())).Level(0, 0, index))
}
