package slurmtext

import (
	"fmt"
	"strconv"
	"strings"
)

// ExpandHosts returns the names in a list of hosts as Slurm writes it, such as "login,node[01-03,07]" or "rack[1-2]n[0-9]". Text
// for "nothing", such as (null), gives none. It returns an error for a malformed list, and for one of more names than the
// parameter most.
func ExpandHosts(s string, most int) (all []string, err error) {
	if nothing(s) {
		return nil, nil
	}
	for _, one := range Split(s) {
		if one == "" {
			continue
		}
		hosts := []string{""}
		for one != "" {
			var ends []string
			before, rest, found := strings.Cut(one, "[")
			if inner, after, closed := strings.Cut(rest, "]"); found {
				if !closed {
					return nil, fmt.Errorf("hosts such as node[01-03,07], not %q", Shorten(s))
				}
				if ends, err = ExpandRanges(inner, most); err != nil {
					return nil, err
				}
				one = after
			} else {
				one, ends = "", []string{""}
			}
			if len(hosts)*len(ends)+len(all) > most {
				return nil, fmt.Errorf("at most %d hosts, not %q", most, Shorten(s))
			}
			longer := make([]string, 0, len(hosts)*len(ends))
			for _, h := range hosts {
				for _, e := range ends {
					longer = append(longer, h+before+e)
				}
			}
			hosts = longer
		}
		all = append(all, hosts...)
	}
	return all, nil
}

// ExpandRanges returns the numbers in text such as "01-03,07" or "0-8:4", padded as the first number of their range. It returns
// an error for malformed ranges, and for more numbers than the parameter most.
func ExpandRanges(s string, most int) (all []string, err error) {
	for one := range strings.SplitSeq(s, ",") {
		span, by, stepped := strings.Cut(one, ":")
		low, high, ranged := strings.Cut(span, "-")
		if !ranged {
			high = low
		}
		step := int64(1)
		if stepped {
			if step, err = Digits(by); err != nil || step < 1 {
				return nil, fmt.Errorf("ranges such as 0-3,7 or 0-8:4, not %q", Shorten(s))
			}
		}
		from, err := Digits(low)
		to, err2 := Digits(high)
		if err != nil || err2 != nil || to < from {
			return nil, fmt.Errorf("ranges such as 0-3,7 or 0-8:4, not %q", Shorten(s))
		}
		if (to-from)/step+1 > int64(most-len(all)) {
			return nil, fmt.Errorf("at most %d numbers, not %q", most, Shorten(s))
		}
		for n := from; n <= to; n += step {
			all = append(all, fmt.Sprintf("%0*d", len(low), n))
		}
	}
	return all, nil
}

// Digits parses at most nine digits.
func Digits(s string) (int64, error) {
	if len(s) == 0 || len(s) > 9 || strings.Trim(s, "0123456789") != "" {
		return 0, fmt.Errorf("1 to 9 digits, not %q", Shorten(s))
	}
	return strconv.ParseInt(s, 10, 64)
}

// Split splits text at the commas that are outside brackets.
func Split(s string) (parts []string) {
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[', '(':
			depth++
		case ']', ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, s[from:])
}

// Shorten cuts text to 80 bytes, for messages.
func Shorten(s string) string {
	const longest = 80
	if len(s) > longest {
		return strings.ToValidUTF8(s[:longest-3], "") + "..."
	}
	return s
}
