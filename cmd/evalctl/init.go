package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"evalctl/daemon/convert"
	"evalctl/harness/starter"
	"evalctl/internal/environ"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

type initCmd struct {
	Dir   string  `arg:"" optional:"" default:"." name:"dir" help:"Folder to write to (the current one)."`
	From  string  `placeholder:"FOLDER" help:"Make questions about the documents in this folder, without a model. Default: an example."`
	Size  int     `name:"questions" default:"100" placeholder:"N" help:"With --from, at most N questions about the documents (${default})."`
	Facts int     `default:"8" placeholder:"N" help:"With --from, N planted facts of each kind (${default})."`
	Seed  *uint64 `placeholder:"N" help:"${about_seed}"`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *initCmd) Validate() error {
	switch {
	case c.Size < 1:
		return fmt.Errorf("--questions %d: must be at least 1", c.Size)
	case c.Facts < 0 || c.Facts > 99:
		return fmt.Errorf("--facts %d: must be from 0 to 99", c.Facts)
	case c.Seed != nil && c.From == "":
		return errors.New("--seed draws questions about documents: give --from FOLDER, or leave --seed out")
	}
	return nil
}

// Run writes the project.
func (c *initCmd) Run(ctx context.Context, p *process) error {
	o := starter.Options{Dir: c.Dir, From: c.From, Convert: converted, Size: c.Size, Facts: c.Facts, Secrets: environ.Secrets(os.Environ())}
	if c.Seed != nil {
		o.Seed = *c.Seed
	} else {
		var seed [4]byte
		_, _ = rand.Read(seed[:]) // never fails
		o.Seed = uint64(binary.LittleEndian.Uint32(seed[:]))
	}
	project, err := starter.Write(ctx, o)
	if err != nil {
		return err
	}
	t := newTerminal(p, false)
	for i, file := range project.Files {
		t.Field([]string{"wrote", "", "", ""}[i], "%s", terminal.Line(file))
	}
	if project.Workflows != "" {
		t.Field("move", "the workflow to %s, the only place where GitHub looks for it", terminal.Line(project.Workflows))
	}
	if c.From != "" {
		t.Field("documents", "%s", figure.Count(project.Documents, "document"))
		printLeftOut(t, project.LeftOut)
		if s := project.Secrets; s.Sentences > 0 {
			t.Field("", "not asked about: %s that may have a password or a key, such as %s:%d", figure.Count(s.Sentences, "sentence"),
				terminal.Line(s.Path), s.Line)
		}
		t.Field("questions", "%d about gaps in sentences, %d about planted facts, seed %d", project.Found, project.Planted, o.Seed)
		t.Field("shows", "%s", "whether a memory finds what it was given, keeps what is newest and forgets what was deleted; "+
			"not how well it finds what people ask in other words")
	}
	command := terminal.CommandLine("evalctl", "run")
	if c.Dir != "." {
		command = terminal.CommandLine("cd", c.Dir) + " && " + command
	}
	_, err = fmt.Fprintln(p.stdout, strings.TrimSpace(command))
	return err
}

// converted converts a page to Markdown, or says why that is impossible.
func converted(ctx context.Context, name string, data []byte) (markdown, why string, err error) {
	kind, err := convert.KindOf("", "", name)
	if err != nil {
		return "", "", err
	}
	const anyName = "page"
	doc, err := convert.Convert(ctx, kind, anyName, data)
	if errors.Is(err, convert.ErrInvalid) { // the same reason for all files
		return "", strings.Replace(err.Error(), ": "+anyName+": ", ": ", 1), nil
	}
	return doc.Markdown, "", err
}

// mostReasons limits the reasons that are printed.
const mostReasons = 8

// printLeftOut prints the files that were left out, by reason.
func printLeftOut(t *terminal.Terminal, files []starter.LeftOut) {
	byReason := map[string][]string{}
	for _, f := range files {
		byReason[f.Why] = append(byReason[f.Why], f.Path)
	}
	reasons := slices.SortedFunc(maps.Keys(byReason), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(byReason[b]), len(byReason[a])), cmp.Compare(a, b))
	})
	for i, why := range reasons {
		if i == mostReasons {
			t.Field("", "and %s", figure.Count(len(reasons)-i, "other reason"))
			break
		}
		paths, which := byReason[why], ""
		if len(paths) > 1 {
			which = fmt.Sprintf("%d files, such as ", len(paths))
		}
		t.Field("", "left out: %s%s (%s)", which, terminal.Line(paths[0]), terminal.Line(why))
	}
}
