package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
	"evalctl/scorer"
)

// Inputs prints the dataset, the corpus and the brains.
func Inputs(t *terminal.Terminal, path string, p dataset.Input) {
	var tags []string
	for _, tag := range slices.Sorted(maps.Keys(p.Dataset.Tags)) {
		tags = append(tags, fmt.Sprintf("%s %d", terminal.Line(tag), p.Dataset.Tags[tag]))
	}
	questions := figure.Count(p.Dataset.Selected, "question")
	if s := p.Dataset.Selection; s != nil {
		questions = fmt.Sprintf("%d of %s (%s)", p.Dataset.Selected, figure.Count(s.Total, "question"),
			terminal.Line(s.String()))
	}
	if p.Dataset.Repeats > 1 {
		questions += fmt.Sprintf(", each asked %d times", p.Dataset.Repeats)
	}
	line := fmt.Sprintf("%s  %s  sha256 %s", terminal.Line(path), questions, terminal.Short(p.Dataset.SHA256, 9))
	if len(tags) > 0 && len(tags) <= 8 {
		line += "  tags: " + strings.Join(tags, "  ")
	}
	t.Field("dataset", "%s", line)
	if p.Corpus != nil {
		line := fmt.Sprintf("%s  %s  sha256 %s", terminal.Line(p.Corpus.Path),
			figure.Count(len(p.Corpus.Docs), "document"), terminal.Short(p.Corpus.SHA256, 9))
		if out := p.Corpus.LeftOut; len(out) > 0 {
			line += fmt.Sprintf("  %d other files ignored, such as %s", len(out), terminal.Line(out[0]))
		}
		t.Field("corpus", "%s", line)
	}
	printBrains(t, p.Brains)
	printIgnored(t, p)
	Warnings(t, p.Doubts)
	Warnings(t, p.Gold.Warnings)
}

// Scorer prints how an external scorer describes itself, nothing if id is nil.
func Scorer(t *terminal.Terminal, id *result.ExternalScorer) {
	if id == nil {
		return
	}
	text := terminal.Short(id.Name+" "+id.Version, 200)
	switch {
	case id.Endpoint != "":
		text += "  " + terminal.Line(id.Endpoint)
	case id.Files > 0:
		text += fmt.Sprintf("  %s of its command  sha256 %s", figure.Count(id.Files, "file"), terminal.Short(id.FilesSHA256, 9))
	}
	t.Field("scorer", "%s", text)
}

// usable prints for each scorer how many questions it can score.
func usable(t *terminal.Terminal, needs dataset.Needs) {
	var parts []string
	for _, k := range scorer.ByNeed() {
		parts = append(parts, fmt.Sprintf("%s %d of %d", k.Name, needs.Has[k.Needs], needs.Total))
	}
	t.Field("scorers", "%s", strings.Join(parts, "  "))
}

// listedBrains limits the brains that printBrains prints.
const listedBrains = 8

// printBrains prints the brains and their questions, if there are several.
func printBrains(t *terminal.Terminal, brains []dataset.Brain) {
	if len(brains) < 2 {
		return
	}
	named := figure.List(brains, listedBrains, func(b dataset.Brain) string {
		text := fmt.Sprintf("%s %s", b.Name, figure.Count(b.Questions, "question"))
		if len(b.Docs) > 0 {
			text += " in " + figure.Count(len(b.Docs), "document")
		}
		return text
	})
	t.Field("brains", "%d: %s", len(brains), named)
}

// listedKeys limits the keys that Ignored names.
const listedKeys = 8

// Ignored lists the unknown keys in dataset and corpus, one line for each of the two files.
func Ignored(in dataset.Input) (lines []string) {
	add := func(path string, unknown map[string]int) {
		keys := figure.List(slices.Sorted(maps.Keys(unknown)), listedKeys, func(k string) string {
			return fmt.Sprintf("%s (%s)", terminal.Short(k, 40), figure.Count(unknown[k], "line"))
		})
		if keys != "" {
			lines = append(lines, fmt.Sprintf("%s: unknown fields are ignored: %s", terminal.Line(path), keys))
		}
	}
	add(in.Dataset.Path, in.Dataset.Unknown)
	if in.Corpus != nil {
		add(in.Corpus.Path, in.Corpus.Unknown)
	}
	return lines
}

func printIgnored(t *terminal.Terminal, in dataset.Input) {
	for _, line := range Ignored(in) {
		t.Field("warning", "%s", line)
	}
}
