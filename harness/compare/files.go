package compare

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Files are the result files of one side of a comparison. Files without a name form a side each.
type Files struct {
	Name  string
	Paths []string
}

// ParseFiles parses arguments of the form FILE or NAME=FILE[,FILE…]. A repeated NAME adds files to
// its side. If a whole argument, or everything after NAME=, is an existing file, it is taken as
// that file.
func ParseFiles(args []string) ([]Files, error) {
	var sides []Files
	for _, arg := range args {
		name, list, named := strings.Cut(arg, "=")
		if !named || isFile(arg) {
			if parts := strings.Split(arg, ","); len(parts) > 1 && !isFile(arg) && isFile(parts[0]) {
				return nil, fmt.Errorf("%s: several runs of one side need a name for it: NAME=%s", arg, arg)
			}
			sides = append(sides, Files{Paths: []string{arg}})
			continue
		}
		paths := []string{list}
		if !isFile(list) {
			paths = strings.Split(list, ",")
		}
		if name == "" || slices.Contains(paths, "") {
			return nil, fmt.Errorf("%s is neither a file nor NAME=FILE[,FILE…]", arg)
		}
		i := slices.IndexFunc(sides, func(s Files) bool { return s.Name == name })
		if i < 0 {
			i = len(sides)
			sides = append(sides, Files{Name: name})
		}
		sides[i].Paths = append(sides[i].Paths, paths...)
	}
	return sides, nil
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// PathsOf returns the files of all sides.
func PathsOf(sides []Files) []string {
	var paths []string
	for _, s := range sides {
		paths = append(paths, s.Paths...)
	}
	return paths
}

// OpenSides reads the results of each side, and the baseline if it names a file that is not among
// them.
func OpenSides(given []Files, baseline string) ([]*Run, error) {
	files, err := OpenAll(PathsOf(given))
	if err != nil {
		return nil, err
	}
	var sides []*Run
	rest := files
	for _, s := range given {
		n := len(s.Paths)
		sides, rest = append(sides, Side(s.Name, rest[:n])), rest[n:]
	}
	if isOtherFile(baseline, sides, files) {
		run, err := Open(baseline)
		if err != nil {
			return nil, err
		}
		sides = append(sides, run)
	}
	if _, err := os.Stat(baseline); baseline != "" && len(sides) < 2 && err != nil {
		return nil, fmt.Errorf("--baseline is neither the name of a side nor a file: %w", err)
	}
	if len(sides) < 2 {
		what := PathsOf(given)[0]
		if s := given[0]; s.Name != "" {
			what = s.Name
		}
		return nil, fmt.Errorf("only %s is given: name a second result to compare it with", what)
	}
	return sides, nil
}

// isOtherFile reports whether the baseline is a file that is neither a side's name nor one of the
// files.
func isOtherFile(baseline string, sides, files []*Run) bool {
	info, err := os.Stat(baseline)
	if baseline == "" || err != nil || slices.Contains(NamesOf(sides), baseline) {
		return false
	}
	return !slices.ContainsFunc(files, func(r *Run) bool {
		other, err := os.Stat(r.Path())
		return err == nil && os.SameFile(info, other)
	})
}
