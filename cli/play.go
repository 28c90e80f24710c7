package cli

import (
	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// Playing returns the commands that play policies (eval, bench and worker) for another program than clustergym, which has more
// baselines, and the App that all its commands must share. The caller gives them examples.
func Playing(program string, shared cmdline.App, more Schedulers) (*cmdline.App, []*cobra.Command) {
	a := &app{App: shared, own: more, program: program}
	return &a.App, []*cobra.Command{newEvalCmd(a), newBenchCmd(a), newWorkerCmd(a)}
}
