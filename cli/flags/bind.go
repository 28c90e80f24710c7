package flags

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Words are lists of words by name, for the values of flags.
type Words map[string]func() []string

// Command returns a command whose flags are the fields of opts: see Bind. When the user calls it, it checks their values and then
// calls run. A command that does not say which arguments it takes takes none.
func Command[O any](
	cmd *cobra.Command, opts *O, words Words, run func(ctx context.Context, opts *O, args []string) error,
) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = cobra.NoArgs
	}
	Bind(cmd, opts, words)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := Check(opts, words); err != nil {
			return err
		}
		return run(cmd.Context(), opts, args)
	}
	return cmd
}

// Bind adds a flag to the command for each exported field of the struct *opts, and of the structs in it, that has a tag flag. The
// tags of a field are:
//
//	flag:"name,n"    the name, and the letter that stands for it, if there is one
//	help:"text"      what the flag is for
//	default:"value"  its default; without it, what the field has when Bind is called
//	of:"words"       the name of a list of words: the flag takes only these, and shells complete them
//	complete:"words" the same, but the flag takes other values, too
//	keys:"words"     the flag may be given several times, each time with one of the words, an equals sign and a value
//	file:"csv"       shells complete names of files that end so, or of folders for file:"dir"
//	min:"0"          the lowest value
//	required:"true"  the user must give the flag
func Bind(cmd *cobra.Command, opts any, words Words) {
	eachFlag(reflect.ValueOf(opts).Elem(), func(tag reflect.StructTag, field reflect.Value) {
		name, letter, _ := strings.Cut(tag.Get("flag"), ",")
		f := cmd.Flags()
		add(f, name, letter, tag, field.Addr().Interface())
		_, list := reflect.TypeAssert[[]string](field)
		if list && tag.Get("keys") != "" {
			cmdline.CompleteKeys(cmd, name, words.named(tag.Get("keys")))
		} else if key := tag.Get("of") + tag.Get("complete"); key != "" && list {
			cmdline.CompleteList(cmd, name, words.named(key))
		} else if key != "" {
			cmdline.Complete(cmd, name, words.named(key))
		}
		var err error
		switch kind := tag.Get("file"); kind {
		case "":
		case "dir":
			err = cmd.MarkFlagDirname(name)
		default:
			err = cmd.MarkFlagFilename(name, strings.Split(kind, ",")...)
		}
		if err != nil {
			panic("flags: " + err.Error())
		}
		if tag.Get("required") != "" {
			cmdline.Require(cmd, name)
		}
	})
}

// Check returns a usage error if the value of a flag is not as the tags of its field say.
func Check(opts any, words Words) (err error) {
	eachFlag(reflect.ValueOf(opts).Elem(), func(tag reflect.StructTag, field reflect.Value) {
		name, _, _ := strings.Cut(tag.Get("flag"), ",")
		if key := tag.Get("of"); key != "" {
			values, list := reflect.TypeAssert[[]string](field)
			if !list {
				values = []string{field.String()}
			}
			for _, value := range values {
				if err == nil {
					err = cmdline.OneOf(name, value, words.named(key)()...)
				}
			}
		}
		if least := tag.Get("min"); least != "" && err == nil && less(field, least) {
			want := "at least " + least
			if least == "0" {
				want = "0 or more"
			}
			err = cmdline.Usage("--%s %v: want %s", name, field.Interface(), want)
		}
	})
	return err
}

func (w Words) named(key string) func() []string {
	words, ok := w[key]
	if !ok {
		panic(fmt.Sprintf("flags: there are no words %q", key))
	}
	return words
}

// eachFlag calls do for each field with a tag flag, in order.
func eachFlag(v reflect.Value, do func(tag reflect.StructTag, field reflect.Value)) {
	for f, field := range v.Fields() {
		switch {
		case f.Tag.Get("flag") != "":
			do(f.Tag, field)
		case f.Type.Kind() == reflect.Struct && (f.IsExported() || f.Anonymous):
			eachFlag(field, do)
		}
	}
}

// add adds one flag. Its default is that of the tag, or else what the field has.
func add(f *pflag.FlagSet, name, letter string, tag reflect.StructTag, field any) {
	help, usual := tag.Get("help"), tag.Get("default")
	switch p := field.(type) {
	case *string:
		f.StringVarP(p, name, letter, *p, help)
	case *int:
		f.IntVarP(p, name, letter, *p, help)
	case *int64:
		f.Int64VarP(p, name, letter, *p, help)
	case *uint64:
		f.Uint64VarP(p, name, letter, *p, help)
	case *float64:
		f.Float64VarP(p, name, letter, *p, help)
	case *bool:
		f.BoolVarP(p, name, letter, *p, help)
	case *time.Duration:
		f.DurationVarP(p, name, letter, *p, help)
	case *[]string:
		if usual != "" {
			*p, usual = strings.Split(usual, ","), ""
		}
		if tag.Get("keys") != "" {
			f.StringArrayVarP(p, name, letter, *p, help)
		} else {
			f.StringSliceVarP(p, name, letter, *p, help)
		}
	default:
		panic(fmt.Sprintf("flags: --%s: no flags of type %T", name, field))
	}
	if usual == "" {
		return
	}
	added := f.Lookup(name)
	if err := added.Value.Set(usual); err != nil {
		panic(fmt.Sprintf("flags: --%s: default %q: %v", name, usual, err))
	}
	added.DefValue = added.Value.String()
}

// less reports whether a number or a duration is below the text of another.
func less(field reflect.Value, text string) bool {
	if field.CanFloat() {
		return field.Float() < parsed(text)
	}
	return float64(field.Int()) < parsed(text)
}

func parsed(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("flags: min: " + err.Error())
	}
	return n
}
