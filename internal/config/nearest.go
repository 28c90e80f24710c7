package config

import "strings"

// Nearest returns the candidate spelled most like word, ignoring case, if it is near enough: about one edit per four letters. Of
// equally near candidates it returns the first.
func Nearest(word string, candidates []string) (string, bool) {
	best, found := "", false
	limit := 1 + len(word)/4
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d <= limit {
			best, found, limit = c, true, d-1
		}
	}
	return best, found
}

// distance returns the number of insertions, deletions, substitutions and swaps of neighbouring bytes that turn a into b (optimal
// string alignment).
func distance(a, b string) int {
	prev2, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(prev[j]+cost, prev[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], prev2[j-1]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(b)]
}
