package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/scenario"
	public "github.com/clustergym/clustergym/env/trace/fetch"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
)

func newDoctorCmd(a *app) *cobra.Command {
	return newCommand(a, &none{}, &cobra.Command{
		Use:   "doctor",
		Short: "Check what is installed, and say what to do about what is not",
		Long: cmdline.Long(`
Checks the program, the machine, the folder and the programs that some commands and tests use besides clustergym. For what is
missing it says what for and what to do. It changes nothing and uses no network. The exit status is 1 only if something fails
that every user needs.`),
		Example: "  clustergym doctor\n  clustergym doctor --json",
	}, runDoctor)
}

// finding is the result of one check.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"` // ok, missing if it is optional, or fails
	About  string `json:"about"`
	Do     string `json:"do,omitempty"` // what to do about it
}

const statusOK, statusMissing, statusFails = "ok", "missing", "fails"

func runDoctor(ctx context.Context, a *app, _ *none, _ []string) error {
	all := []finding{
		{Check: "program", Status: statusOK, About: fmt.Sprintf("clustergym %s, %s", version, runtime.Version())},
		{Check: "machine", Status: statusOK, About: fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH,
			phrase.Count(runtime.GOMAXPROCS(0), "core"))},
		a.checkReleased(), checkFolder(), checkPath(), checkTraces(),
		checkTool(ctx, "python3", "the Python package; 3.10 or later",
			"install Python, then pip install the wheel that make wheel builds", "--version"),
		checkTool(ctx, "tensorboard", "watching training", "pip install tensorboard", "--version"),
		checkTool(ctx, "kubectl", "snapshots of a Kubernetes cluster", "install kubectl where the cluster is", "version", "--client"),
		checkTool(ctx, "git", "building and testing", "install git", "--version"),
		checkTool(ctx, "make", "building and testing", "install make", "--version"),
		checkTool(ctx, "go", "building and testing", "install Go 1.21 or later; it gets the right release by itself", "version"),
		checkTool(ctx, "npm", "tests beside ONNX Runtime, and the documentation's site", "install Node.js with npm", "--version"),
		checkTool(ctx, "chromium", "tests of the report and of the site", "install chromium", "--version"),
	}
	fails := 0
	for _, f := range all {
		if f.Status == statusFails {
			fails++
		}
	}
	err := a.PrintOr(all, func() error {
		for _, f := range all {
			a.Printf("%-8s %-12s %s\n", f.Status, f.Check, f.About)
			if f.Do != "" {
				a.Printf("%s", indented(f.Do, 22, 80))
			}
		}
		return nil
	})
	if err == nil && fails > 0 {
		return fmt.Errorf("%s of %s", phrase.Count(fails, "check")+" fail", fmt.Sprint(len(all)))
	}
	return err
}

// checkReleased checks that the released policy can be read.
func (a *app) checkReleased() finding {
	if _, err := a.findPolicy(released.Name); err != nil {
		return finding{"released", statusFails, "the policy that comes with the program: " + err.Error(),
			"build or download the program again"}
	}
	return finding{Check: "released", Status: statusOK, About: "the policy that comes with the program can be read"}
}

// checkFolder checks that results can be written here.
func checkFolder() finding {
	f, err := os.CreateTemp(".", ".clustergym-doctor-*")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		return finding{"folder", statusFails, "results cannot be written here: " + err.Error(), "change to a folder of your own"}
	}
	return finding{Check: "folder", Status: statusOK, About: "results go to runs/ here"}
}

// checkPath checks that a shell finds the program by its name.
func checkPath() finding {
	if path, err := exec.LookPath("clustergym"); err == nil {
		return finding{Check: "path", Status: statusOK, About: path}
	}
	do := "call it " + program
	if own, err := os.Executable(); err == nil {
		do += ", or: export PATH=" + quote(filepath.Dir(own)) + ":$PATH"
	}
	return finding{"path", statusMissing, "clustergym is not on the PATH", do}
}

// checkTraces checks which sets of public traces are where scenarios look for them.
func checkTraces() finding {
	dirs := scenario.SharedFolders()
	where := "traces of " + strings.Join(dirs, " or ")
	var lacks []string
	sets := public.Sets()
	for _, set := range sets {
		lacked := func(file public.File) bool {
			return !slices.ContainsFunc(dirs, func(dir string) bool {
				_, err := os.Stat(filepath.Join(dir, "traces", set.Folder, file.Name))
				return err == nil
			})
		}
		if slices.ContainsFunc(set.Files, lacked) {
			lacks = append(lacks, set.Folder)
		}
	}
	if len(lacks) > 0 {
		about := fmt.Sprintf("%d of %d sets of public traces are not in %s", len(lacks), len(sets), where)
		return finding{"traces", statusMissing, about,
			next("trace", "fetch") + "; scenarios whose names begin with embedded need none. Missing: " + strings.Join(lacks, ", ")}
	}
	return finding{Check: "traces", Status: statusOK, About: fmt.Sprintf("all %d sets are in %s", len(sets), where)}
}

// toolTime is how long a tool may take to tell its version.
var toolTime = 10 * time.Second

// checkTool checks that another program can be called.
func checkTool(ctx context.Context, name, about, do string, args ...string) finding {
	path, err := exec.LookPath(name)
	if err != nil {
		return finding{name, statusMissing, "for " + about, do}
	}
	ctx, cancel := context.WithTimeout(ctx, toolTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second // what the tool has started may hold its output
	said, err := cmd.Output()
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer within %v", toolTime)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	if err != nil {
		return finding{name, statusMissing, fmt.Sprintf("for %s: %s fails: %v", about, path, err), do}
	}
	return finding{Check: name, Status: statusOK, About: line}
}
