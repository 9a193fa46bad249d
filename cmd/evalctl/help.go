package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// helpCmd is equivalent to --help.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"Command, for example run or run sweep."`
}

// Run prints the help and ends the process, as --help does.
func (c *helpCmd) Run(ctx context.Context, p *process) error {
	withHelp := *p
	withHelp.args = append(slices.Clone(c.Command), "--help")
	withHelp.renameCommand()
	_, err := parse(ctx, &withHelp, &cli{})
	return err
}

// commandNames returns the names of the commands, in the order of the help.
func commandNames(app *kong.Node) []string {
	var names []string
	for _, c := range app.Children {
		switch {
		case c.Hidden:
			continue
		case len(c.Children) == 0:
			names = append(names, c.Path())
		}
		names = append(names, commandNames(c)...)
	}
	return names
}

// noCommand prints the help to stderr and returns the error of a command line without arguments.
func noCommand(ctx context.Context, p *process) error {
	withHelp := *p
	withHelp.args, withHelp.stdout = []string{"--help"}, p.stderr
	// The error only repeats that a command is missing.
	_, _ = parse(ctx, &withHelp, &cli{}, kong.Exit(func(int) {}))
	return errors.New("no command")
}

// advanced is the key of the group of flags that only --help=all prints.
const advanced = "advanced"

// helpGroups are the groups of flags and of commands, in the order of the help.
var helpGroups = []kong.Group{
	{Key: "target", Title: "Target:"},
	{Key: "questions", Title: "Questions:"},
	{Key: "scoring", Title: "Scoring:"},
	{Key: "gate", Title: "Gate:"},
	{Key: "output", Title: "Output:"},
	{Key: advanced, Title: "Advanced:"},
	{Key: "create", Title: "With create:"},
	{Key: "pages", Title: "Pages:"},
	{Key: "evaluate", Title: "Evaluate:"},
	{Key: "results", Title: "Results:"},
	{Key: "inputs", Title: "Questions, judges and targets:"},
	{Key: "service", Title: "The reference service:"},
	{Key: "program", Title: "This program:"},
}

// withoutAll replaces --help=all by --help, and reports whether it did.
func withoutAll(args []string) ([]string, bool) {
	const all = "--help=all"
	i := slices.Index(args, all)
	if end := slices.Index(args, "--"); i < 0 || end >= 0 && end < i {
		return args, false
	}
	args = slices.Clone(args)
	args[i] = strings.TrimSuffix(all, "=all")
	return args, true
}

// printHelp prints the help of evalctl, or of a command with its everyday flags.
func printHelp(options kong.HelpOptions, k *kong.Context) error {
	return printGroups(options, k, false)
}

// printAllHelp prints the help of evalctl, or of a command, in full.
func printAllHelp(options kong.HelpOptions, k *kong.Context) error {
	return printGroups(options, k, true)
}

// printGroups changes the model as the help shows it: the process ends afterwards.
func printGroups(options kong.HelpOptions, k *kong.Context, all bool) error {
	command := k.Selected()
	describe(cmp.Or(command, k.Model.Node), all)
	for _, f := range k.Model.Flags {
		if command == nil || !hasAdvanced(command) {
			f.Group = nil
		}
	}
	if command == nil {
		if !all {
			options.NoExpandSubcommands = true
			fold(k.Model.Node)
		}
		return kong.DefaultHelpPrinter(options, k)
	}
	short := !all && hasAdvanced(command)
	for node := command; node != nil; node = node.Parent {
		slices.SortStableFunc(node.Flags, func(a, b *kong.Flag) int { return groupIndex(a) - groupIndex(b) })
		for _, f := range node.Flags {
			switch {
			case !short && node == k.Model.Node:
				f.Group = nil
			case short && (isAdvanced(f) || f.Name == "help"):
				f.Hidden = true
			case short:
				f.Help = brief(f.Help)
			}
		}
	}
	if err := kong.DefaultHelpPrinter(options, k); err != nil {
		return err
	}
	more := ""
	if short {
		more = fmt.Sprintf("All flags, in full: %s --help=all\n", command.FullPath())
	}
	if names := below(command.Name); len(names) > 0 {
		more += fmt.Sprintf("See also: evalctl %s\n", strings.Join(names, ", evalctl "))
	}
	_, err := fmt.Fprintf(k.Stdout, "\n%sExit codes: evalctl --help=all\n", more)
	return err
}

// describe sets the text that follows the summary of a command, or of evalctl.
func describe(node *kong.Node, all bool) {
	node.Detail = helpText(node)
	switch {
	case node.Parent != nil:
	case all:
		node.Detail += exitTable()
	default:
		node.Detail += exitSummary()
	}
}

// fold hides the commands of two words, and those about the program, from the help. The second words
// are added to the command of the first.
func fold(app *kong.Node) {
	for _, c := range app.Children {
		if more := further(c.Name); len(more) > 0 {
			c.Help = fmt.Sprintf("%s Also: %s.", c.Help, strings.Join(more, ", "))
		}
		if c.Group != nil && c.Group.Key == "program" {
			c.Hidden, c.Group = true, nil // kong prints the title of a group whose commands are all hidden
		}
		c.Hidden = c.Hidden || strings.Contains(c.Name, " ")
	}
}

// below returns the names of the commands of two words whose first one is name.
func below(name string) []string {
	return slices.DeleteFunc((*cli)(nil).names(), func(n string) bool { return !strings.HasPrefix(n, name+" ") })
}

// helpTexts has the texts that follow the summaries of commands, one file for each command.
//
//go:embed help
var helpTexts embed.FS

// helpText returns the text of a command, empty if it has none.
func helpText(node *kong.Node) string {
	text, _ := helpTexts.ReadFile(helpFile(node.FullPath()))
	return string(text)
}

// helpFile returns the file with the text of a command, for example evalctl judge check.
func helpFile(command string) string {
	return "help/" + strings.ReplaceAll(strings.TrimPrefix(command, "evalctl "), " ", "_") + ".txt"
}

func isAdvanced(f *kong.Flag) bool { return f.Group != nil && f.Group.Key == advanced }

// hasAdvanced reports whether a command has advanced flags of its own.
func hasAdvanced(command *kong.Node) bool { return slices.ContainsFunc(command.Flags, isAdvanced) }

// groupIndex returns the place of a flag's group in the help. Flags without a group come first.
func groupIndex(f *kong.Flag) int {
	return slices.IndexFunc(helpGroups, func(g kong.Group) bool { return f.Group != nil && f.Group.Key == g.Key })
}

// brief returns the first part of a help text, with the default that ends it.
func brief(help string) string {
	whole := help
	help, _, _ = strings.Cut(help, ". ")
	if first, _, _ := strings.Cut(help, "; "); !strings.Contains(first, "(") {
		help = first
	}
	help = strings.TrimSuffix(help, ".")
	if said := regexp.MustCompile(endingDefault).FindString(whole); said != "" && !strings.HasSuffix(help+".", said) {
		return help + said
	}
	return help + "."
}

// endingDefault matches the default at the end of a help text.
const endingDefault = ` \([^() ]*\)\.$`
