package belief

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// MemoryFormat is the value of the field format in the text of a Memory.
const MemoryFormat = "clustergym-beliefs"

// The versions of the formats. Speeds of version 1 had no width, and those of versions 1 and 2 no effect of several racks.
const (
	version       = 1
	speedsVersion = 3
)

// Limits of texts.
const (
	maxText   = 16 << 20 // bytes of a Learner
	maxSpeeds = 64 << 20 // bytes of Speeds
	maxLast   = 32 << 20 // bytes of the last state; Save leaves out a state whose text is longer
	// MaxMemory is the most bytes of the text of a Memory.
	MaxMemory = maxText + maxSpeeds + maxLast

	mostLast     = 1 << 20 // servers, and running jobs
	maxEnded     = 1 << 53 // jobs ended
	maxWeight    = 1 << 20 // weight of the jobs that ended in a bin; the constants of this package allow for some thousand
	maxRead      = 1 << 40 // readings
	maxEffect    = 100     // of a configuration
	maxLog       = 800     // logarithm of a reading
	maxPrecision = 1e12
)

// owner returns what the reader of a text has read so far.
func owner(r *strictjson.Reader) *memoryText { return r.Owner.(*memoryText) }

// memories is the format of the text of a Memory, and of the texts of a Learner and of Speeds.
var memories = strictjson.Format{
	Key: "belief",
	Limits: map[string]int64{
		"most": most, "mostLast": mostLast, "maxEnded": maxEnded, "maxWeight": maxWeight, "speedsVersion": speedsVersion,
		"maxRead": maxRead, "mostWidth": mostWidth, "mostTypes": mostTypes, "mostCircles": mostCircles, "mostMeasured": mostMeasured,
		"mostOwn": mostOwn, "maxLog": maxLog, "mostMiss": 2 * maxLog, "maxPrecision": maxPrecision,
	},
	Kinds: map[string]strictjson.Kind{
		"format": strictjson.Words[uint8](MemoryFormat),
		"speeds": strictjson.Words[uint8]("speeds"),
		"scope":  strictjson.Words[scope](scopeNames[:]...),
		"name":   strictjson.Texts(names.Longest, names.OK, "at most 256 bytes of printable text"),
		"given": strictjson.Texts(names.Longest, func(s string) bool { return s != "" && names.OK(s) },
			"1 to 256 bytes of printable text"),
		"kind": strictjson.As(func(r *strictjson.Reader, to *Kind) {
			*to = owner(r).RunTimes.Learner
			r.OneOf(string(*to))
		}),
		"level": strictjson.Both(func(r *strictjson.Reader, to *level) {
			*to = level(r.OneOf(levelNames[:tunings[owner(r).RunTimes.Learner].levels]...))
		}, func(b []byte, from *level) []byte { return strictjson.AppendText(b, levelNames[*from]) }),
		"type":     strictjson.As(readType),
		"effects":  strictjson.As(func(r *strictjson.Reader, to *vector) { readVector(r, to, maxEffect) }),
		"pull":     strictjson.As(func(r *strictjson.Reader, to *vector) { readVector(r, to, maxPrecision) }),
		"triangle": strictjson.Both(readTriangle, appendTriangle),
		"variance": strictjson.As(func(r *strictjson.Reader, to *float64) {
			*to = r.Float(readingVariance, 2*(readingVariance+placedVariance))
		}),
	},
}

func readType(r *strictjson.Reader, to *string) {
	name, ok := r.String(names.Longest)
	before := owner(r).Speeds.Types
	if !ok || !names.OK(name) || strings.Contains(name, "|") || typeSpeed(name).reference ||
		slices.Contains(before[:len(before)-1], name) {
		r.Refuse("the name of another GPU type, which does not count as V100")
	}
	*to = name
}

// readVector reads one number for each effect that the text has.
func readVector(r *strictjson.Reader, to *vector, most float64) {
	lacks := owner(r).Speeds.lacks()
	readNumbers(r, effects-lacks, most, func(i int, x float64) { to[effect(i, lacks)] = x })
}

// effect returns the index of the effect that has the given index in a text that lacks so many.
func effect(i, lacks int) int {
	if i < racksAt {
		return i
	}
	return i + lacks
}

func readNumbers(r *strictjson.Reader, n int, most float64, take func(i int, x float64)) {
	if got := r.List(n, func(i int) { take(i, r.Float(-most, most)) }); got != n {
		r.Bad("", fmt.Sprintf("a list of %d numbers", got), strconv.Itoa(n))
	}
}

// readTriangle reads the lower triangle of a symmetric matrix, row by row; appendTriangle writes it.
func readTriangle(r *strictjson.Reader, to *matrix) {
	lacks := owner(r).Speeds.lacks()
	row, column, n := 0, 0, effects-lacks
	readNumbers(r, n*(n+1)/2, maxPrecision, func(_ int, x float64) {
		i, k := effect(row, lacks), effect(column, lacks)
		to[i][k], to[k][i] = x, x
		if column++; column > row {
			row, column = row+1, 0
		}
	})
}

func appendTriangle(b []byte, from *matrix) []byte {
	begin := byte('[')
	for row := range from {
		for _, x := range from[row][:row+1] {
			b, begin = strictjson.AppendFloat(append(b, begin), "", x), ','
		}
	}
	return append(b, ']')
}
