package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// Checked prints the check of the dataset at path. d is nil for an unusable dataset.
func Checked(t *terminal.Terminal, path string, in dataset.Input, d *dataset.Description) {
	Inputs(t, path, in)
	if d != nil {
		if c := d.Corpus; c != nil {
			t.Field("gold", "%d of %s  %s", c.Gold, figure.Count(c.Documents, "document"), figure.Bytes(int64(c.Bytes)))
		}
		if d.Dated > 0 {
			t.Field("dates", "%d from %s to %s", d.Dated, d.First, d.Last)
		}
	}
	usable(t, in.Needs)
	if d == nil {
		return
	}
	s := form.Section{}
	s.Show(form.Terminal, form.Gap{})
	s.Show(form.Terminal, spreads(d))
	s.Show(form.Terminal, tagTable(d.Tags, d.Questions))
	s.Text(t)
}

// spreads returns the table of lengths and counts.
func spreads(s *dataset.Description) *form.Table {
	t := form.NewTable(form.Text{}, "", ">min", ">median", ">p95", ">max", ">mean")
	add := func(name string, v *dataset.Spread) {
		if v != nil {
			t.Row(name, number(v.Min), number(v.Median), number(v.P95), number(v.Max), fmt.Sprintf("%.1f", v.Mean))
		}
	}
	add("question, characters", s.Length)
	add("reference answer, characters", s.Reference)
	add("gold documents of a question", s.Gold)
	if c := s.Corpus; c != nil {
		add("document, characters", c.Length)
		if s.Brains > 1 {
			add("documents of a brain", c.PerBrain)
		}
	}
	return t
}

// number formats a number without needless decimals.
func number(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

// listedTags limits the tags in a table.
const listedTags = 40

// tagTable returns the table of tags, the most frequent first.
func tagTable(tags map[string]int, questions int) *form.Table {
	names := slices.SortedFunc(maps.Keys(tags), func(a, b string) int {
		return cmp.Or(tags[b]-tags[a], strings.Compare(a, b))
	})
	t := form.NewTable(form.Text{}, "tag", ">questions", ">share")
	for i, name := range names {
		if i == listedTags {
			t.Row(fmt.Sprintf("… and %d more", len(names)-i), "", "")
			break
		}
		t.Row(form.Name(name), tags[name], fmt.Sprintf("%.1f%%", 100*float64(tags[name])/float64(questions)))
	}
	return t
}

// Sample lists the strata of a sample.
func Sample(t *terminal.Terminal, sample result.Sample) {
	strata := form.NewTable(form.Text{}, "stratum", ">drawn", ">of")
	for _, stratum := range sample.Strata {
		strata.Row(form.Name(stratum.Name), stratum.Sampled, stratum.Population)
	}
	s := form.Section{}
	s.Show(form.Terminal, strata)
	s.Fact("sample", "%d of %s  seed %d  signature %s", sample.Size, figure.Count(sample.Population, "question"), sample.Seed,
		form.Digest(sample.Signature))
	s.Text(t)
}
