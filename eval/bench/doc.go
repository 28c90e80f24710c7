// Package bench is the benchmark of the field that comes with the program: tasks that do not change, the policies that are
// played on them by default, the file of results that people send each other, and the ranking over all tasks. Package eval plays
// the tasks. docs/bench.md has the rules.
package bench
