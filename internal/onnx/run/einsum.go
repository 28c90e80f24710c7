package run

import (
	"fmt"
	"slices"
	"strings"
)

// einsum computes a sum of products that a text such as "bij,bjk->bik" describes, one product after the other. It knows no dots,
// which stand for several dimensions.
func einsum(c *call) error {
	text := strings.ReplaceAll(c.node.attributes["equation"].s, " ", "")
	left, result, explicit := strings.Cut(text, "->")
	terms := strings.Split(left, ",")
	if len(text) > 100 || len(terms) != len(c.in) || strings.Trim(text, letters+",->") != "" {
		return fmt.Errorf("equation %.100q for %d inputs, want letters for the dimensions of each", text, len(c.in))
	}
	if !explicit {
		result = once(left)
	}
	// The letters of the result come first, so that each of its elements is the sum of a row.
	order := result + distinct(left, result)
	if len(distinct(result, "")) != len(result) || len(order) > maxRank || strings.Trim(result, left) != "" {
		return fmt.Errorf("equation %.100q, want at most %d letters, each of them among those of inputs and once in the result", text,
			maxRank)
	}
	sizes := map[rune]int{}
	for k, term := range terms {
		if len(term) != len(c.in[k].Shape) {
			return fmt.Errorf("equation %.100q: %q for %v", text, term, c.in[k])
		}
		for i, letter := range term {
			if size, known := sizes[letter]; known && size != c.in[k].Shape[i] {
				return fmt.Errorf("equation %.100q: %c is %d and %d", text, letter, size, c.in[k].Shape[i])
			}
			sizes[letter] = c.in[k].Shape[i]
		}
	}
	shape := make([]int, len(order))
	for i, letter := range order {
		shape[i] = sizes[letter]
	}
	products, err := count(shape)
	if err != nil {
		return err
	}
	if err := c.charge(sumWork * len(terms) * products); err != nil {
		return err
	}
	out, err := c.make(Float, slices.Clone(shape[:len(result)]))
	if err != nil || products == 0 {
		return c.give(out, err)
	}
	c.sumProducts(out, shape, terms, order)
	return c.give(out, nil)
}

// sumWork is what a factor of a product costs that einsum adds.
const sumWork = 4

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// sumProducts adds the products of all elements of the shape, whose dimensions have the letters of order, to out.
func (c *call) sumProducts(out *Tensor, shape []int, terms []string, order string) {
	steps := make([][]int, len(terms))
	for k, term := range terms {
		steps[k] = make([]int, len(order))
		for i, s := range strides(c.in[k].Shape) {
			steps[k][strings.IndexByte(order, term[i])] += s // a letter that is there twice follows the diagonal
		}
	}
	at, index := make([]int, len(terms)), make([]int, len(shape))
	inner, _ := count(shape[len(out.Shape):])
	for i := range out.Floats {
		sum := 0.0
		for range inner {
			product := float32(1)
			for k, x := range at {
				product *= c.in[k].Floats[x]
			}
			sum += float64(product)
			for d := len(shape) - 1; d >= 0; d-- { // to the next element
				index[d]++
				back := 0
				if index[d] == shape[d] {
					back, index[d] = shape[d], 0
				}
				for k := range at {
					at[k] += steps[k][d] * (1 - back)
				}
				if back == 0 {
					break
				}
			}
		}
		out.Floats[i] = float32(sum)
	}
}

// distinct returns the letters of a text, each once, without commas and those of another text.
func distinct(text, without string) string {
	var found []rune
	for _, letter := range text {
		if letter != ',' && !slices.Contains(found, letter) && !strings.ContainsRune(without, letter) {
			found = append(found, letter)
		}
	}
	return string(found)
}

// once returns the letters that a text has once, in alphabetical order: the result of an equation that names none.
func once(text string) string {
	return strings.Map(func(letter rune) rune {
		if strings.Count(text, string(letter)) == 1 {
			return letter
		}
		return -1
	}, letters[26:]+letters[:26])
}
