package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/internal/cmdline"
)

func newVersionCmd(a *app) *cobra.Command {
	return newCommand(a, &none{}, &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    cmdline.Long("Prints the version of clustergym, the Go release it was built with, and the platform."),
		Example: "  clustergym version --json",
	}, func(_ context.Context, a *app, _ *none, _ []string) error {
		platform := runtime.GOOS + "/" + runtime.GOARCH
		return a.Print(map[string]string{"version": version, "go": runtime.Version(), "platform": platform},
			[][]string{{fmt.Sprintf("clustergym %s (%s, %s)", version, runtime.Version(), platform)}})
	})
}
