package trace

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// isMissing reports whether a field says that nothing is known, in one of the spellings of pandas, R, SQL and batch systems.
func isMissing(s string) bool {
	switch strings.ToLower(s) {
	case "", "nan", "nat", "none", "null", "nil", "na", "n/a", "<na>", `\n`, "-", "unknown":
		return true
	}
	return false
}

// isNumber reports whether s is a decimal, perhaps in scientific notation.
func isNumber(s string) bool {
	mantissa, exponent, scientific := cutExponent(s)
	if strings.Trim(mantissa, "0123456789.") != "" || strings.Trim(mantissa, ".") == "" || strings.Count(mantissa, ".") > 1 {
		return false
	}
	if !scientific {
		return true
	}
	n, err := strconv.Atoi(exponent)
	return err == nil && -40 <= n && n <= 40
}

func cutExponent(s string) (mantissa, exponent string, scientific bool) {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// hasComma reports whether a number has a decimal comma, or one between thousands. The comma is no guess: an error says noComma.
func hasComma(s string) bool {
	return strings.Contains(s, ",") && isNumber(strings.ReplaceAll(s, ",", ""))
}

const noComma = "a number without commas: the decimal point is a point, and nothing stands between thousands"

// plain returns a number without an exponent: 1.6e3 becomes 1600. Other text stays.
func plain(s string) string {
	mantissa, exponent, scientific := cutExponent(s)
	if !scientific || !isNumber(s) {
		return s
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	point, _ := strconv.Atoi(exponent) // isNumber has checked it
	point += len(whole)
	digits := whole + frac
	if point < 0 {
		digits, point = strings.Repeat("0", -point)+digits, 0
	}
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	whole = strings.TrimLeft(digits[:point], "0")
	return whole + "." + digits[point:] + strings.Repeat("0", max(0, 1-len(whole)))
}

// rounded returns a number with at most some decimals. It cuts off the others.
func rounded(s string, decimals int) string {
	s = plain(s)
	if i := strings.IndexByte(s, '.'); i >= 0 && len(s)-i-1 > decimals && isNumber(s) {
		return s[:i+1+decimals]
	}
	return s
}

// readSeconds reads seconds, which floating point may write with an exponent or with digits below a nanosecond, which are cut
// off.
func readSeconds(s string) (time.Duration, bool) { return parseSeconds(rounded(s, 9)) }

var (
	clockSpan = regexp.MustCompile(`^(?:(\d{1,5})(?: days?,? ?\+?|-))?(\d{1,9}):(\d\d):(\d\d(?:[.,]\d+)?)$`)
	daySpan   = regexp.MustCompile(`^(\d{1,5}) days?$`)
	isoSpan   = regexp.MustCompile(`^P(?:(\d{1,5})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d+)?)S)?)?$`)
)

// aSpan says in errors what a duration may be.
const aSpan = "seconds from 0 to 3153600000, or a duration such as 1:02:03, 1-02:03:04 or 0 days 01:02:03"

// readSpan reads a duration: seconds, or days, hours, minutes and seconds as pandas (0 days 01:02:03.5), Python (1 day, 1:02:03),
// Slurm (1-02:03:04), ISO 8601 (P1DT2H3M4S) and Go (1h2m3s) write them. For other text it returns what was expected.
func readSpan(s string) (d time.Duration, want string) {
	if d, ok := readSeconds(s); ok {
		return d, ""
	}
	var parts []string
	for _, form := range []*regexp.Regexp{clockSpan, daySpan, isoSpan} {
		if parts = form.FindStringSubmatch(s); parts != nil {
			break
		}
	}
	if parts == nil || s == "P" || strings.HasSuffix(s, "T") {
		if d, err := time.ParseDuration(s); err == nil && d >= 0 && d <= maxTime {
			return d, ""
		}
		return 0, notASpan(s)
	}
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if i+1 < len(parts) && parts[i+1] != "" {
			n, ok := readSeconds(strings.Replace(parts[i+1], ",", ".", 1))
			if !ok || n > maxTime/(unit/time.Second) {
				return 0, aSpan
			}
			d += n * (unit / time.Second)
		}
	}
	if d > maxTime {
		return 0, aSpan
	}
	return d, ""
}

// notASpan says what was expected in place of text that is no duration.
func notASpan(s string) string {
	switch {
	case strings.HasPrefix(s, "-"):
		return "a duration that is not negative"
	case isNumber(s):
		return aSpan + "; is this in milliseconds or nanoseconds? Divide the column"
	case strings.Count(s, ":") == 1 && strings.Trim(s, "0123456789:.") == "":
		return "hours, minutes and seconds, such as 0:" + s + " or " + s + ":00"
	case hasComma(s):
		return noComma
	}
	return aSpan
}
