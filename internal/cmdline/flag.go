package cmdline

import (
	"strings"

	"github.com/spf13/cobra"
)

// Complete registers the words that shells suggest as completions of a flag's value.
func Complete(cmd *cobra.Command, flag string, words func() []string) {
	complete(cmd, flag, cobra.ShellCompDirectiveDefault, func(string) []string { return words() })
}

// CompleteList is like Complete for a flag whose value is a list with commas. It completes the last word, with words that are not
// in the list yet.
func CompleteList(cmd *cobra.Command, flag string, words func() []string) {
	complete(cmd, flag, partOfValue, func(typed string) (all []string) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		for _, word := range words() {
			if !strings.Contains(","+before, ","+word+",") {
				all = append(all, before+word)
			}
		}
		return all
	})
}

// CompleteKeys registers the keys that shells suggest as completions of a flag's value, KEY=VALUE. A key may be followed by a tab
// and its description.
func CompleteKeys(cmd *cobra.Command, flag string, keys func() []string) {
	complete(cmd, flag, partOfValue, func(string) (all []string) {
		for _, key := range keys() {
			key, about, described := strings.Cut(key, "\t")
			if key += "="; described {
				key += "\t" + about
			}
			all = append(all, key)
		}
		return all
	})
}

const partOfValue = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace

func complete(cmd *cobra.Command, flag string, how cobra.ShellCompDirective, words func(typed string) []string) {
	of := func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return words(typed), how
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, of); err != nil {
		panic("complete --" + flag + ": " + err.Error())
	}
}

// Require marks flags as required.
func Require(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := cmd.MarkFlagRequired(flag); err != nil {
			panic("require --" + flag + ": " + err.Error())
		}
	}
}
