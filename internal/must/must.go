// Package must ends a test at an error that the test does not expect.
package must

// tb is what it needs of a test: testing.TB, or that of rapid.
type tb interface {
	Helper()
	Fatal(args ...any)
}

// Do ends the test if there is an error.
func Do(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns the results of a call to a test, as in must.Get(os.Open(name))(t), or ends the test if there is an error.
func Get[T any](v T, err error) func(t tb) T {
	return func(t tb) T {
		t.Helper()
		Do(t, err)
		return v
	}
}
