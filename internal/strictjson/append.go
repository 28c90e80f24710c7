package strictjson

import (
	"encoding/json"
	"strconv"
)

// AppendText appends a quoted string. It uses encoding/json only for strings that need more than quotes.
func AppendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			text, err := json.Marshal(s)
			if err != nil {
				panic("strictjson: " + err.Error()) // strings always encode
			}
			return append(b, text...)
		}
	}
	b = append(append(b, '"'), s...)
	return append(b, '"')
}

// AppendSomeText appends the key and the text, or nothing if the text is empty. A key is all before the value, as in `,"name":`.
func AppendSomeText(b []byte, key, text string) []byte {
	if text == "" {
		return b
	}
	return AppendText(append(b, key...), text)
}

// AppendInt appends the key and the number.
func AppendInt(b []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(b, key...), n, 10)
}

// AppendSome appends the key and the number, or nothing if the number is 0.
func AppendSome(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	return AppendInt(b, key, n)
}

// AppendInts appends a list of numbers.
func AppendInts[T ~int32](b []byte, all []T) []byte {
	b = append(b, '[')
	for i, n := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}

// AppendFloat appends the key and the shortest text from which the same number is read.
func AppendFloat(b []byte, key string, x float64) []byte {
	return strconv.AppendFloat(append(b, key...), x, 'g', -1, 64)
}
