package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// writePages writes the number of words of the documentation, with its tables and code.
func writePages(w io.Writer, root string) error {
	rows := [][]string{{"pages", "pages", "words"}}
	for _, kind := range []struct {
		name  string
		files []string
	}{
		{"for users: README.md, docs", []string{"README.md", "docs/*.md"}},
		{"for developers: docs/dev", []string{"docs/dev/*.md"}},
	} {
		pages, words, err := wordsOf(root, kind.files...)
		if err != nil {
			return err
		}
		rows = append(rows, []string{kind.name, fmt.Sprint(pages), fmt.Sprint(words)})
	}
	writeTable(w, rows)
	return nil
}

// wordsOf returns the number of files that match one of patterns, and of their words.
func wordsOf(root string, patterns ...string) (files, words int, err error) {
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			return 0, 0, err
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				return 0, 0, err
			}
			files++
			words += len(strings.Fields(string(data)))
		}
	}
	return files, words, nil
}

// writeProgram writes the figures of the command line: the commands of its grammar, and the flags
// of docs/flags.md, which a test keeps equal to the grammar.
func writeProgram(w io.Writer, root string) error {
	commands, err := commandsIn(filepath.Join(root, "cmd", "evalctl"))
	if err != nil {
		return err
	}
	flags, uses, meanings, err := flagsIn(filepath.Join(root, "docs", "flags.md"))
	if err != nil {
		return err
	}
	_, texts, err := wordsOf(root, "cmd/evalctl/help/*.txt")
	if err != nil {
		return err
	}
	writeTable(w, [][]string{
		{"program", "number"},
		{"commands", fmt.Sprint(commands)},
		{"flags by name", fmt.Sprint(flags)},
		{"flags by name and command", fmt.Sprint(uses)},
		{"words of the help of commands", fmt.Sprint(texts)},
		{"words of the help of flags, once a name", fmt.Sprint(meanings)},
	})
	return nil
}

// commandsIn returns the number of commands of the grammar in a folder: kong's fields with the tag
// cmd, from type cli on. Hidden ones do not count, nor do those that only have other commands.
func commandsIn(folder string) (int, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return 0, err
	}
	structs := map[string]*ast.StructType{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return 0, err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	if structs["cli"] == nil {
		return 0, fmt.Errorf("%s has no type cli, from which commands are counted", folder)
	}
	return below(structs, structs["cli"]), nil
}

// below returns the number of commands among the fields of a struct and below them.
func below(structs map[string]*ast.StructType, of *ast.StructType) int {
	n := 0
	for _, field := range of.Fields.List {
		tag := tagOf(field)
		_, isCommand := tag.Lookup("cmd")
		_, isHidden := tag.Lookup("hidden")
		_, isDefault := tag.Lookup("default")
		name, _ := field.Type.(*ast.Ident)
		switch {
		case !isCommand || isHidden && !isDefault:
		case name == nil || structs[name.Name] == nil:
			n++
		default:
			n += max(1, below(structs, structs[name.Name]))
		}
	}
	return n
}

func tagOf(field *ast.Field) reflect.StructTag {
	if field.Tag == nil {
		return ""
	}
	text, _ := strconv.Unquote(field.Tag.Value) // the parser has accepted it
	return reflect.StructTag(text)
}

// flagRow matches a row of the table of all flags: its commands and its meaning.
var flagRow = regexp.MustCompile("(?m)^\\| `--[^|]*\\|[^|]*\\|[^|]*\\|([^|]*)\\|(.*)\\|$")

// flagsIn returns the numbers of flags in a page, of pairs of a flag and a command, and of words of
// their meanings.
func flagsIn(page string) (flags, uses, words int, err error) {
	data, err := os.ReadFile(page)
	if err != nil {
		return 0, 0, 0, err
	}
	_, section, found := strings.Cut(string(data), "\n## All flags\n")
	if !found {
		return 0, 0, 0, fmt.Errorf("%s has no section \"All flags\", in which flags are counted", page)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, row := range flagRow.FindAllStringSubmatch(section, -1) {
		flags++
		uses += len(strings.Split(row[1], ","))
		words += len(strings.Fields(row[2]))
	}
	return flags, uses, words, nil
}
