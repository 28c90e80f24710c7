package sim_test

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/trace"
)

// watcher wraps a scheduler and records everything observable at each decision, before and after the wrapped scheduler decides.
type watcher struct {
	cluster.Scheduler
	jobs  int // the number of job ids to look at
	views []view
}

type view struct {
	now  int64
	text string
}

func (w *watcher) Schedule(tx *cluster.Txn) error {
	before := look(tx, w.jobs)
	if err := w.Scheduler.Schedule(tx); err != nil {
		return err
	}
	w.views = append(w.views, view{int64(tx.Now()), before + "decided\n" + look(tx, w.jobs)})
	return nil
}

// unseen lists the methods of View that look does not call: copying; the number of jobs that will ever come, which is not secret;
// and the physics of the episode, as far as profiles contain it.
var unseen = []string{"CopyTo", "ExtendTo", "Jobs", "Profile"}

// look calls every method of the View with all combinations of arguments, encodes agents' observations, and returns all of it
// as text.
func look(tx *cluster.Txn, jobs int) string {
	var b strings.Builder
	at, woken := tx.Wake()
	fmt.Fprintln(&b, tx.Now(), tx.Events(), tx.Mark(), at, woken)
	for _, o := range tx.Ops() {
		fmt.Fprintln(&b, o.Kind, o.Job, o.Server, o.First(), o.Before(), o.Placement(), o.GPUs())
	}
	s := tx.View()
	v := reflect.ValueOf(s)
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		if slices.Contains(unseen, name) {
			continue
		}
		method := v.Method(i)
		var choices [][]reflect.Value
		for in := range method.Type().Ins() {
			choices = append(choices, arguments(s, jobs, in))
		}
		each(choices, nil, func(args []reflect.Value) {
			b.WriteString(name)
			show(&b, args)
			b.WriteString(" = ")
			show(&b, call(method, args))
			b.WriteByte('\n')
		})
	}
	encodeAll(&b, tx)
	return b.String()
}

// encodeAll writes what each encoder of the program shows, of what is told and of beliefs that have learned nothing so far.
func encodeAll(b *strings.Builder, tx *cluster.Txn) {
	for _, name := range observe.Names() {
		for _, believes := range []bool{false, true} {
			shown := tx
			if believes {
				var own cluster.State
				tx.View().CopyTo(&own)
				shown = own.Begin(nil).As(cluster.Beliefs{
					Times: belief.New(belief.History, belief.Mean), Speeds: belief.NewSpeeds(true),
				})
			}
			e, err := observe.Named(name, 32)
			if err != nil {
				panic(err)
			}
			var o observe.Observation
			if err := e.Encode(shown, nil, &o); err != nil {
				panic(err) // cannot happen without candidates
			}
			fmt.Fprintln(b, name, o.Servers, o.Jobs, o.Ids, o.Global)
		}
	}
}

// arguments returns all values of a parameter type with which look should call.
func arguments(s *cluster.View, jobs int, t reflect.Type) (all []reflect.Value) {
	add := func(v any) { all = append(all, reflect.ValueOf(v)) }
	switch t {
	case reflect.TypeFor[cluster.JobID]():
		for id := range jobs {
			add(cluster.JobID(id))
		}
	case reflect.TypeFor[cluster.ServerID]():
		for id := range s.Servers() {
			add(cluster.ServerID(id))
		}
	case reflect.TypeFor[int32](): // a GPU or a rack
		for n := range int32(3) {
			add(n)
		}
	case reflect.TypeFor[uint16](): // sets of GPU types
		add(uint16(1))
		add(^uint16(0))
	case reflect.TypeFor[cluster.Amount]():
		add(cluster.Amount{GPUMilli: 1000})
		add(cluster.Amount{GPUMilli: 300, CPUMilli: 1000, MemMiB: 1000, GPUMemMiB: 9000})
	case reflect.TypeFor[cluster.Placement]():
		add(cluster.Placement(nil))
		for _, id := range s.Running() {
			add(slices.Clone(s.Placement(id)))
		}
	case reflect.TypeFor[cluster.Shape]():
		for _, id := range s.Pending() {
			add(s.Shape(id))
		}
	case reflect.TypeFor[[]int32]():
		add(make([]int32, s.Servers()))
	case reflect.TypeFor[[]cluster.JobID]():
		add([]cluster.JobID(nil))
	case reflect.TypeFor[[]time.Duration]():
		add([]time.Duration(nil))
	case reflect.TypeFor[[]cluster.Event]():
		add([]cluster.Event(nil))
	case reflect.TypeFor[io.Writer]():
		add(new(strings.Builder))
	default:
		panic(fmt.Sprintf("leak: no arguments of type %v: teach them, or add the method to unseen", t))
	}
	return all
}

// each calls f with every combination of the choices.
func each(choices [][]reflect.Value, args []reflect.Value, f func([]reflect.Value)) {
	if len(choices) == 0 {
		f(args)
		return
	}
	for _, v := range choices[0] {
		each(choices[1:], append(args, v), f)
	}
}

// call calls a method that may panic, for example because a job is not submitted yet.
func call(method reflect.Value, args []reflect.Value) (results []reflect.Value) {
	defer func() {
		if recover() != nil {
			results = []reflect.Value{reflect.ValueOf("panic")}
		}
	}()
	return method.Call(args)
}

// show writes values and what they point to. It also shows arguments after the call, because some methods fill them.
func show(b *strings.Builder, values []reflect.Value) {
	for _, v := range values {
		if v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct {
			v = v.Elem()
		}
		if v.Type() == reflect.TypeFor[cluster.JobSpec]() { // without what Trains returns, for which only the physics asks
			spec := v.Interface().(cluster.JobSpec)
			fmt.Fprintf(b, " %s", appendExported(nil, &spec))
			continue
		}
		fmt.Fprintf(b, " %+v", v)
	}
}

// appendExported writes the exported fields of a specification.
func appendExported(b []byte, spec *cluster.JobSpec) []byte {
	v := reflect.ValueOf(spec).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			b = fmt.Appendf(b, "%s=%+v ", f.Name, v.Field(i))
		}
	}
	return b
}

// TestNoTypeThatASchedulerReachesHoldsTheTruth checks that no type that a scheduler can reach from the transaction comes from
// package trace, which contains the true run times.
func TestNoTypeThatASchedulerReachesHoldsTheTruth(t *testing.T) {
	seen, truth := map[reflect.Type]bool{}, reflect.TypeFor[trace.Job]().PkgPath()
	var walk func(t reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		if typ.PkgPath() == truth {
			t.Errorf("%s is a %v", path, typ)
		}
		for m := range typ.Methods() {
			for out := range m.Type.Outs() {
				walk(out, path+"."+m.Name)
			}
		}
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Chan:
			walk(typ.Elem(), path)
		case reflect.Struct:
			for f := range typ.Fields() {
				if f.IsExported() {
					walk(f.Type, path+"."+f.Name)
				}
			}
		}
	}
	walk(reflect.TypeFor[*cluster.Txn](), "Txn")
	if !seen[reflect.TypeFor[cluster.JobSpec]()] || !seen[reflect.TypeFor[cluster.ServerSpec]()] {
		t.Errorf("walked to %d types, want JobSpec and ServerSpec among them", len(seen))
	}
}
