package placement

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// places finds where else than on the servers that BestFit chooses a job could start. Jobs in a rack may share its uplink or its
// power, and BestFit knows no racks, so that where a job starts matters to its own speed and to that of others. The zero value is
// ready to use.
type places struct {
	racks []room // those that take a worker at least, the fullest first
	used  []bool // by the index of a rack: whether the gang that is being laid out uses it
	fit   cluster.Placement
}

// room is how many workers of a job a rack takes.
type room struct{ rack, workers int32 }

// each calls try with placements of n workers of a job that each hold the amount a, for each type of GPU:
//
//   - where BestFit would start them on that type, if there are several types
//   - in one rack: at most most, the fullest and the emptiest first
//   - for a gang, in several racks: all but the last are filled, and after the first there are as few as possible; at most most,
//     with the emptiest as the first
//
// Within a rack BestFit chooses the servers. A placement is valid until try returns. Equal states give equal calls.
func (l *places) each(s *cluster.View, id cluster.JobID, n int32, a cluster.Amount, most int,
	try func(at cluster.Placement) error) error {
	kinds := s.TypesFor(id)
	if len(s.Types()) == 1 || s.Spec(id).Mixed {
		return l.onType(s, id, n, a, kinds, most, try)
	}
	for i := range s.Types() {
		kind := uint16(1) << i
		if kinds&kind == 0 {
			continue
		}
		var fits bool
		if l.fit, fits = s.BestFitAmong(id, n, a, kind, cluster.AnyRack, l.fit[:0]); !fits {
			continue
		}
		if err := try(l.fit); err != nil {
			return err
		}
		if err := l.onType(s, id, n, a, kind, most, try); err != nil {
			return err
		}
	}
	return nil
}

// onType is each for racks with GPUs of the given types.
func (l *places) onType(s *cluster.View, id cluster.JobID, n int32, a cluster.Amount, types uint16, most int,
	try func(at cluster.Placement) error) error {
	l.count(s, id, a, types)
	if len(l.racks) < 2 {
		return nil
	}
	from, _ := slices.BinarySearchFunc(l.racks, n, func(r room, n int32) int { return cmp.Compare(r.workers, n) })
	whole := l.racks[from:]
	for i := range min(len(whole), most) {
		at := i / 2
		if i%2 == 1 {
			at = len(whole) - 1 - i/2
		}
		var fits bool
		if l.fit, fits = s.BestFitAmong(id, n, a, types, whole[at].rack, l.fit[:0]); fits {
			if err := try(l.fit); err != nil {
				return err
			}
		}
	}
	if left, limited := s.QuotaLeft(id); limited && int64(n)*int64(a.GPUMilli) > left {
		return nil // below, BestFit sees only a part of the gang
	}
	for i := len(l.racks) - 1; i >= 0 && n > 1; i-- {
		tried, err := l.across(s, id, n, a, types, i, most, try)
		if most -= tried; err != nil || most <= 0 {
			return err
		}
	}
	return nil
}

// across calls try, at most most times, with placements in several racks of which the first is that with the given index.
func (l *places) across(s *cluster.View, id cluster.JobID, n int32, a cluster.Amount, types uint16, first, most int,
	try func(at cluster.Placement) error) (tried int, err error) {
	if l.racks[first].workers >= n { // the gang has been tried there whole
		return 0, nil
	}
	l.fit, l.used = l.fit[:0], append(l.used[:0], make([]bool, len(l.racks))...)
	left, last := n, len(l.racks)-1
	for next := first; ; next = last {
		room, fits := l.racks[next], false
		if l.fit, fits = s.BestFitAmong(id, room.workers, a, types, room.rack, l.fit); !fits {
			return 0, nil
		}
		l.used[next] = true
		left -= room.workers
		for last >= 0 && l.used[last] {
			last--
		}
		if last < 0 {
			return 0, nil
		}
		if l.racks[last].workers >= left {
			break
		}
	}
	filled := len(l.fit)
	for i := range l.racks {
		if l.used[i] || l.racks[i].workers < left || tried == most {
			continue
		}
		tried++
		var fits bool
		if l.fit, fits = s.BestFitAmong(id, left, a, types, l.racks[i].rack, l.fit[:filled]); fits {
			if err := try(l.fit); err != nil {
				return tried, err
			}
		}
	}
	return tried, nil
}

// count finds the racks that take a worker with the amount a on GPUs of the given types.
func (l *places) count(s *cluster.View, id cluster.JobID, a cluster.Amount, types uint16) {
	l.racks = l.racks[:0]
	for i := range s.Servers() {
		v := cluster.ServerID(i)
		if types&(1<<s.TypeOf(v)) == 0 {
			continue
		}
		n := s.Fits(v, id, a)
		if n == 0 {
			continue
		}
		rack := s.Server(v).Rack
		at := len(l.racks) - 1 // from the last one on, because the servers of a rack follow each other
		for at >= 0 && l.racks[at].rack != rack {
			at--
		}
		if at < 0 {
			at = len(l.racks)
			l.racks = append(l.racks, room{rack: rack})
		}
		l.racks[at].workers += n
	}
	slices.SortFunc(l.racks, func(a, b room) int { return cmp.Or(cmp.Compare(a.workers, b.workers), cmp.Compare(a.rack, b.rack)) })
}
