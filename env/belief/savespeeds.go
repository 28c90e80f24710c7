package belief

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// speedsVersion is the version of the format that Speeds.Save writes.
const speedsVersion = 3

// Save returns what was learned, as a JSON text. From then on, a belief that restores the text and the saved one answer alike,
// to the last bit, and go on learning in the same way. Equal beliefs have equal texts.
//
//	{"version":3,"learner":"speeds","read":5,"width":0.024,"types":["T4"],"circles":[
//	{"of":"all","last":5,"differences":2,"precision":[...],"pull":[...]},
//	{"of":"user","name":"ada","last":5,"differences":2,"precision":[...],"pull":[...]}],"units":[
//	{"of":"group","name":"nightly","last":1,"readings":1,"x":[...],"y":1.5,"excess":0}],"jobs":[
//	{"name":"job 1","model":"","user":"ada","group":"nightly","last":2,"seen_ns":60000000000,"readings":2,"x":[...],"y":1.5,
//	"told":1,"differences":[{"x":[...],"y":-0.5,"variance":0.0068}]}]}
//
// A circle is a set of jobs that are expected to react alike, with a normal likelihood of their coefficients: the lower
// triangle of its precision, row by row, and the precision times its maximum. Units contains means of first readings of jobs,
// and jobs the mean and the differences of the readings of single jobs. Vectors have one number for each effect. The width is the
// logarithm of the factor on all standard deviations; version 1 did not have it. Versions 1 and 2 did not have the effect of
// several racks.
func (l *Speeds) Save() []byte {
	l.settle() // a restored belief does not know how far this one lagged behind
	b := fmt.Appendf(nil, `{"version":%d,"learner":"speeds","read":%d,"width":`, speedsVersion, l.read)
	b = append(strconv.AppendFloat(b, l.width, 'g', -1, 64), `,"types":[`...)
	for i, name := range l.types {
		b = appendName(separated(b, i), name)
	}
	b = append(b, `],"circles":[`...)
	for i, c := range slices.SortedFunc(maps.Keys(l.circles), compareCircles) {
		e := l.circles[c]
		b = fmt.Appendf(appendCircle(separated(b, i), c), `,"last":%d,"differences":%d,"precision":[`, e.last, e.count)
		for row := range e.precision {
			b = appendNumbers(separated(b, row), e.precision[row][:row+1])
		}
		b = append(appendNumbers(append(b, `],"pull":[`...), e.pull[:]), "]}"...)
	}
	b = append(b, `],"units":[`...)
	for i, c := range slices.SortedFunc(maps.Keys(l.units), compareCircles) {
		u := l.units[c]
		b = fmt.Appendf(appendCircle(separated(b, i), c), `,"last":%d,"readings":%d`, u.last, u.count)
		b = appendPoint(b, &u.x, u.y)
		b = append(strconv.AppendFloat(append(b, `,"excess":`...), u.excess, 'g', -1, 64), '}')
	}
	b = append(b, `],"jobs":[`...)
	i := 0
	for _, name := range slices.SortedFunc(maps.Keys(l.jobs), cmp.Compare) {
		if j := l.jobs[name]; j.last > 0 {
			b = j.append(separated(b, i), name)
			i++
		}
	}
	return append(b, "]}\n"...)
}

func (j *measured) append(b []byte, name string) []byte {
	b = appendName(append(b, "\n{\"name\":"...), name)
	b = appendName(append(b, `,"model":`...), j.model)
	b = appendName(append(b, `,"user":`...), j.user)
	b = appendName(append(b, `,"group":`...), j.group)
	b = fmt.Appendf(b, `,"last":%d,"seen_ns":%d,"readings":%d`, j.last, j.seen, j.count)
	b = fmt.Appendf(appendPoint(b, &j.x, j.y), `,"told":%d,"differences":[`, j.told)
	for i := range j.differences {
		d := &j.differences[i]
		b = separated(b, i)
		b = append(b, '{')
		b = append(appendNumbers(append(b, `"x":[`...), d.x[:]), `],"y":`...)
		b = append(strconv.AppendFloat(b, d.y, 'g', -1, 64), `,"variance":`...)
		b = append(strconv.AppendFloat(b, d.variance, 'g', -1, 64), '}')
	}
	return append(b, "]}"...)
}

// separated appends a comma unless this is the first element of a list.
func separated(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

func appendCircle(b []byte, c circle) []byte {
	b = fmt.Appendf(b, "\n{\"of\":%q", scopeNames[c.scope])
	if c.name != "" {
		b = appendName(append(b, `,"name":`...), c.name)
	}
	return b
}

func appendPoint(b []byte, x *vector, y float64) []byte {
	b = append(appendNumbers(append(b, `,"x":[`...), x[:]), `],"y":`...)
	return strconv.AppendFloat(b, y, 'g', -1, 64)
}

func appendNumbers(b []byte, x []float64) []byte {
	for i, v := range x {
		b = strconv.AppendFloat(separated(b, i), v, 'g', -1, 64)
	}
	return b
}

func appendName(b []byte, name string) []byte {
	text, err := json.Marshal(name)
	if err != nil {
		panic("belief: " + err.Error()) // strings always encode
	}
	return append(b, text...)
}
