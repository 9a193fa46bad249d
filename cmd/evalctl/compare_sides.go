package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/internal/terminal"
)

// comparedSide is a side of a comparison as the command line has it. A file without a name is a
// side of its own.
type comparedSide struct {
	name  string
	paths []string
}

// comparedSides returns the sides of arguments, each FILE or NAME=FILE[,FILE…]. A NAME that is
// given again adds files to its side. An argument, or what follows NAME=, that is a file as it
// stands is that file.
func comparedSides(args []string) ([]comparedSide, error) {
	var sides []comparedSide
	for _, arg := range args {
		name, list, named := strings.Cut(arg, "=")
		if !named || isFile(arg) {
			if parts := strings.Split(arg, ","); len(parts) > 1 && !isFile(arg) && isFile(parts[0]) {
				return nil, fmt.Errorf("%s: several runs of one side need a name for it: NAME=%s", arg, arg)
			}
			sides = append(sides, comparedSide{paths: []string{arg}})
			continue
		}
		paths := []string{list}
		if !isFile(list) {
			paths = strings.Split(list, ",")
		}
		if name == "" || slices.Contains(paths, "") {
			return nil, fmt.Errorf("%s: it is neither a file nor NAME=FILE[,FILE…]", arg)
		}
		i := slices.IndexFunc(sides, func(s comparedSide) bool { return s.name == name })
		if i < 0 {
			i = len(sides)
			sides = append(sides, comparedSide{name: name})
		}
		sides[i].paths = append(sides[i].paths, paths...)
	}
	return sides, nil
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// pathsOf returns the files of all sides.
func pathsOf(sides []comparedSide) []string {
	var paths []string
	for _, s := range sides {
		paths = append(paths, s.paths...)
	}
	return paths
}

// withoutSecondNames leaves out the files without a name that eachOnce leaves out.
func withoutSecondNames(t *terminal.Terminal, sides []comparedSide) []comparedSide {
	unnamed := slices.DeleteFunc(slices.Clone(sides), func(s comparedSide) bool { return s.name != "" })
	kept := eachOnce(t, pathsOf(unnamed))
	return slices.DeleteFunc(sides, func(s comparedSide) bool {
		return s.name == "" && !slices.Contains(kept, s.paths[0])
	})
}

// openSides reads the results of each side, and the baseline if it is a file that is not among
// them.
func openSides(given []comparedSide, baseline string) ([]*compare.Run, error) {
	files, err := compare.OpenAll(pathsOf(given))
	if err != nil {
		return nil, err
	}
	var sides []*compare.Run
	rest := files
	for _, s := range given {
		n := len(s.paths)
		sides, rest = append(sides, compare.Side(s.name, rest[:n])), rest[n:]
	}
	if isOtherFile(baseline, sides, files) {
		run, err := compare.Open(baseline)
		if err != nil {
			return nil, err
		}
		sides = append(sides, run)
	}
	if len(sides) < 2 {
		what := pathsOf(given)[0]
		if s := given[0]; s.name != "" {
			what = s.name
		}
		return nil, fmt.Errorf("only %s is given: name a second result to compare it with", what)
	}
	return sides, nil
}

// isOtherFile reports whether the baseline is neither the name of a side nor one of the files, but
// a file.
func isOtherFile(baseline string, sides, files []*compare.Run) bool {
	info, err := os.Stat(baseline)
	if baseline == "" || err != nil || slices.Contains(compare.NamesOf(sides), baseline) {
		return false
	}
	return !slices.ContainsFunc(files, func(r *compare.Run) bool {
		other, err := os.Stat(r.Path())
		return err == nil && os.SameFile(info, other)
	})
}
