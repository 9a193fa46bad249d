package main

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"evalctl/harness/project"
	"evalctl/internal/spelling"
)

// Patterns of the errors of kong that plainly says otherwise, besides those about values.
const (
	unknownFlag  = `(?s)^unknown flag (-\S+?)(?:, did you mean .*)?$`
	unexpected   = `(?s)^unexpected argument (.*?)(?:, did you mean .*)?$`
	missingWord  = `^expected one of (.*)$`
	missingValue = `^expected (".*")$`
)

// plainly returns an error of kong in the words of the other messages. It proposes only names
// that the help shows: kong itself also proposes hidden and old ones.
func plainly(k *kong.Context, err error) error {
	text, command := err.Error(), "evalctl"
	match := func(pattern string) []string { return regexp.MustCompile(pattern).FindStringSubmatch(text) }
	selected := k.Selected()
	if selected != nil {
		command = selected.FullPath()
	}
	if m := match(unknownFlag); m != nil {
		if best := nearestFlag(k.Flags(), m[1]); best != "" {
			return fmt.Errorf("unknown flag %s: did you mean --%s?", m[1], best)
		}
		return fmt.Errorf("unknown flag %s: %s --help=all lists the flags", m[1], command)
	}
	if m := match(unexpected); m != nil {
		return fmt.Errorf("unexpected argument %s: %s", m[1], instead(k, m[1]))
	}
	if selected != nil {
		if m := match(missingWord); m != nil {
			return fmt.Errorf("%s needs one of %s: %s --help says what they do", strings.TrimPrefix(command, "evalctl "),
				strings.ReplaceAll(m[1], `"`, ""), command)
		}
		if m := match(missingValue); m != nil {
			return fmt.Errorf("%s is missing on the command line: %s --help says how it is used", m[1], command)
		}
	}
	return project.Plain(err)
}

// nearestFlag returns the name of the flag that was probably meant: the only one with the given
// beginning, else the nearest one. It is empty if no flag is similar.
func nearestFlag(flags []*kong.Flag, given string) string {
	given, long := strings.CutPrefix(given, "--")
	if !long {
		return ""
	}
	var names, longer []string
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		names = append(names, f.Name)
		if strings.HasPrefix(f.Name, given) {
			longer = append(longer, f.Name)
		}
	}
	if len(longer) == 1 {
		return longer[0]
	}
	return spelling.Nearest(given, names)
}

// instead says what to write instead of an argument that a command does not take.
func instead(k *kong.Context, given string) string {
	node, command := k.Model.Node, "evalctl"
	if selected := k.Selected(); selected != nil {
		node, command = selected, selected.FullPath()
	}
	names := further(node.Name)
	for _, c := range node.Children {
		if !c.Hidden && !strings.Contains(c.Name, " ") {
			names = append(names, c.Name)
		}
	}
	switch best := spelling.Nearest(given, names); {
	case best != "":
		return fmt.Sprintf("did you mean %s %s?", command, best)
	case node == k.Model.Node:
		return "the commands are " + strings.Join(commandNames(node), ", ")
	case node.Name == "run":
		return "questions are given with --dataset"
	}
	return command + " --help says how it is used"
}

// further returns the second words of the commands of two words whose first one is name.
func further(name string) []string {
	words := below(name)
	for i := range words {
		words[i] = strings.TrimPrefix(words[i], name+" ")
	}
	return words
}

// notFile returns the error of a command that has read its argument as the name of a file. It
// proposes a second word of the command if the argument is similar to one.
func notFile(command, given string, err error) error {
	if best := spelling.Nearest(given, further(command)); best != "" && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not a file: did you mean evalctl %s %s?", given, command, best)
	}
	return err
}
