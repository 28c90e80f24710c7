package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/internal/cmdline"
)

func newVersionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    cmdline.Long("Prints the version of clustergym, the Go release it was built with, and the platform."),
		Example: "  clustergym version --json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runVersion(a) },
	}
}

func runVersion(a *app) error {
	if a.JSON {
		return a.PrintJSON(map[string]string{
			"version": version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		})
	}
	a.Printf("clustergym %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
