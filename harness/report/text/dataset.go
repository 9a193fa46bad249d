package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/dataset"
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
	t.Blank()
	t.Table(spreads(*d))
	if len(d.Tags) > 0 {
		t.Table(tagRows(d.Tags, d.Questions))
	}
}

// spreads returns the rows of the table of lengths and counts.
func spreads(s dataset.Description) [][]string {
	rows := [][]string{{"", "min", "median", "p95", "max", "mean"}}
	add := func(name string, v *dataset.Spread) {
		if v != nil {
			rows = append(rows, []string{
				name, number(v.Min), number(v.Median), number(v.P95), number(v.Max), fmt.Sprintf("%.1f", v.Mean),
			})
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
	return rows
}

// number formats a number without needless decimals.
func number(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

// listedTags limits the tags in a table.
const listedTags = 40

// tagRows returns the table of tags, the most frequent first.
func tagRows(tags map[string]int, questions int) [][]string {
	names := slices.SortedFunc(maps.Keys(tags), func(a, b string) int {
		return cmp.Or(tags[b]-tags[a], strings.Compare(a, b))
	})
	rows := [][]string{{"tag", "questions", "share"}}
	for i, name := range names {
		if i == listedTags {
			rows = append(rows, []string{fmt.Sprintf("… and %d more", len(names)-i), "", ""})
			break
		}
		rows = append(rows, []string{
			terminal.Short(name, 40), fmt.Sprint(tags[name]), fmt.Sprintf("%.1f%%", 100*float64(tags[name])/float64(questions)),
		})
	}
	return rows
}

// Sample lists the strata of a sample.
func Sample(t *terminal.Terminal, s result.Sample) {
	rows := [][]string{{"stratum", "drawn", "of"}}
	for _, stratum := range s.Strata {
		rows = append(rows, []string{
			terminal.Short(stratum.Name, 50), fmt.Sprint(stratum.Sampled), fmt.Sprint(stratum.Population),
		})
	}
	t.Table(rows)
	t.Field("sample", "%d of %s  seed %d  signature %s", s.Size, figure.Count(s.Population, "question"), s.Seed,
		terminal.Short(s.Signature, 9))
}
