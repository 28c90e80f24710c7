// Package experiment runs the experiments that files in studies/experiments describe: it trains what a table compares, plays the
// table, and writes it between the markers of a page, or checks that it stands there.
package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Folder is where the files of experiments are, from the root folder of the repository.
const Folder = "studies/experiments"

// File is an experiment: what is trained first, and the tables of a page.
type File struct {
	Name      string     `yaml:"-"`         // of the file, without its ending
	About     string     `yaml:"about"`     // in one sentence
	Page      string     `yaml:"page"`      // that shows the tables, from the root folder
	Note      string     `yaml:"note"`      // that stands below each table of an evaluation
	Traces    bool       `yaml:"traces"`    // the tables need public traces, without which nothing is checked outside CI
	Threads   int        `yaml:"threads"`   // of each training; 0 for one per core
	Trainings []Training `yaml:"trainings"` // in order: later ones may begin with what earlier ones wrote
	Tables    []Table    `yaml:"tables"`

	path string
}

// Training is a run for each combination of worlds and seeds, whose values replace {world} and {seed} in the other fields.
type Training struct {
	Worlds []string `yaml:"worlds"`
	Seeds  []string `yaml:"seeds"`
	Run    string   `yaml:"run"`  // the command without --dir, --from and --resume
	Dir    string   `yaml:"dir"`  // the folder of the run
	From   string   `yaml:"from"` // a run whose weights a new run begins with

	line int
}

// Table is a part of a page between the markers <!-- NAME --> and <!-- end of NAME -->: commands, each with what it prints.
type Table struct {
	Marker string   `yaml:"marker"`
	Page   string   `yaml:"page"` // in place of the file's
	Eval   *Eval    `yaml:"eval"` // either an evaluation
	Run    []string `yaml:"run"`  // or a command, in the lines in which the page shows it
	Bare   bool     `yaml:"bare"` // the page does not show the command
	Part   int      `yaml:"part"` // of what the command prints: only the table with this number, from 1; 0 for everything
	Copy   Copy     `yaml:"copy"`
	Also   []Pick   `yaml:"also"`

	line int
}

// Eval is a call of clustergym eval for each baseline.
type Eval struct {
	Scenarios []string  `yaml:"scenarios"`
	Sets      []string  `yaml:"sets"`
	Windows   int       `yaml:"windows"` // 0 for all
	Policies  []string  `yaml:"policies"`
	Against   []Against `yaml:"against"`
	Out       string    `yaml:"out"` // keeps finished cases
}

// Against says from what differences are shown.
type Against struct {
	Baseline  string `yaml:"baseline"`
	Metric    string `yaml:"metric"`     // empty for the mean JCT
	OverSeeds bool   `yaml:"over_seeds"` // means over seeds of training
}

// Copy names a file that the command writes, and the file of the repository that it replaces.
type Copy struct {
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

// Pick is another page that shows some rows and columns of the table, between markers of the same name.
type Pick struct {
	Page    string   `yaml:"page"`
	Rows    []string `yaml:"rows"`    // by their first cell
	Columns []string `yaml:"columns"` // by their heading up to a comma; the first column is always there
}

// Names returns the names of all experiments below the root folder of the repository.
func Names(root string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(root, Folder, "*.yaml"))
	if err != nil || len(paths) == 0 {
		return nil, errors.Join(fmt.Errorf("no %s/*.yaml in %s: want the root folder of the repository", Folder, root), err)
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(p), ".yaml")
	}
	return paths, nil
}

// Open reads the experiment with a name.
func Open(root, name string) (*File, error) {
	path := filepath.Join(Folder, name+".yaml")
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, fmt.Errorf("experiment %q: %w", name, err)
	}
	return Parse(path, text)
}

// Parse reads an experiment. Errors begin with path and line.
func Parse(path string, text []byte) (*File, error) {
	f := File{Name: strings.TrimSuffix(filepath.Base(path), ".yaml"), path: path}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one YAML document, want one", path)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i, line := range linesOf(&doc, "trainings") {
		f.Trainings[i].line = line
	}
	for i, line := range linesOf(&doc, "tables") {
		f.Tables[i].line = line
	}
	return &f, f.validate()
}

// plain puts the errors of YAML on one line, without the names of Go's types.
func plain(err error) error {
	var typed *yaml.TypeError
	if !errors.As(err, &typed) {
		return err
	}
	text := strings.Join(typed.Errors, "; ")
	return errors.New(regexp.MustCompile(` in type \S+`).ReplaceAllString(strings.ReplaceAll(text, "!!", ""), ""))
}

// linesOf returns the lines in which the items of a list begin.
func linesOf(doc *yaml.Node, key string) (lines []int) {
	for i := 0; i+1 < len(doc.Content[0].Content); i += 2 {
		if doc.Content[0].Content[i].Value == key {
			for _, item := range doc.Content[0].Content[i+1].Content {
				lines = append(lines, item.Line)
			}
		}
	}
	return lines
}
