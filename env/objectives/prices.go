package objectives

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// inline replaces each price list of terms that is the name of a CSV file by what the file has, so that the objective's text says
// all. Names are relative to the folder of the objective's file. It reports whether there was one.
func inline(doc *yaml.Node, folder string) (found bool, err error) {
	terms := value(doc, "terms")
	if terms == nil {
		return false, nil
	}
	for _, term := range terms.Content {
		n := value(term, "prices")
		if n == nil || n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
			continue
		}
		if folder == "" {
			return false, fmt.Errorf("line %d: prices: %s, want hours and prices: files are read only beside the file of an objective",
				n.Line, show(n))
		}
		path := n.Value
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		prices, err := readPrices(path)
		if err != nil {
			return false, fmt.Errorf("line %d: prices: %w", n.Line, err)
		}
		prices.Line = n.Line
		*n = *prices
		found = true
	}
	return found, nil
}

// value returns the value of a key, nil if the node has no such key.
func value(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// readPrices reads a CSV file with the columns hour and price, one row for each hour of the day from which a price holds.
func readPrices(path string) (*yaml.Node, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	defer f.Close()
	r := csv.NewReader(io.LimitReader(f, mostBytes))
	r.FieldsPerRecord, r.ReuseRecord, r.TrimLeadingSpace = 2, true, true
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
	seen := map[int]bool{}
	for first := true; ; first = false {
		row, err := r.Read()
		if errors.Is(err, io.EOF) && len(seen) > 0 {
			return node, nil
		}
		bad := func(what, want string) error {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("%s:%d: %s, want %s", path, line, what, want)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%s: no row, want hour,price and one row for each hour at which the price changes", path)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case first:
			if head := strings.ToLower(strings.TrimPrefix(strings.Join(row, ","), "\ufeff")); head != "hour,price" {
				return nil, bad(strconv.Quote(shortened(head)), "the header hour,price")
			}
			continue
		}
		hour, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(row[0]), ":00"))
		if err != nil || hour < 0 || hour > 23 || seen[hour] {
			return nil, bad("hour "+strconv.Quote(shortened(row[0])), "0 to 23, each once")
		}
		price, err := strconv.ParseFloat(strings.TrimSpace(row[1]), 64)
		if err != nil || !(price >= 0 && price <= mostPrice) {
			return nil, bad("price "+strconv.Quote(shortened(row[1])), fmt.Sprintf("a number from 0 to %v", float64(mostPrice)))
		}
		seen[hour] = true
		for _, text := range []string{strconv.Itoa(hour), strconv.FormatFloat(price, 'g', -1, 64)} {
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: text})
		}
	}
}
