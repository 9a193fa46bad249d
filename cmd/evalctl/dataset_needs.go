package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/terminal"
	"evalctl/scorer"
)

// needs counts how many questions have what each scorer needs.
type needs struct {
	total int
	has   map[scorer.Need]int
}

func (n *needs) add(item scorer.Item) {
	if n.has == nil {
		n.has = map[scorer.Need]int{}
	}
	n.total++
	for need, has := range map[scorer.Need]bool{
		scorer.NeedExpected:  len(item.Expected) > 0,
		scorer.NeedReference: strings.TrimSpace(item.Reference) != "",
		scorer.NeedGold:      len(item.Gold) > 0,
		scorer.NeedChecks:    len(item.Checks) > 0,
	} {
		if has {
			n.has[need]++
		}
	}
}

// others returns a phrase that names the scorers for which more questions have what they need than
// for the scorer used, "" if there are none.
func (n *needs) others(used scorer.Kind) string {
	var out []string
	for _, k := range scorer.Kinds() {
		switch has := n.has[k.Needs]; {
		case has <= n.has[used.Needs]:
		case has == n.total:
			out = append(out, fmt.Sprintf("all have %s: use --scorer %s", k.Needs, k.Name))
		default:
			out = append(out, fmt.Sprintf("%d of %d have %s: use --scorer %s", has, n.total, k.Needs, k.Name))
		}
	}
	return strings.Join(out, ", or ")
}

// explain adds to the error of a dataset which other scorer suits it better.
func (n *needs) explain(path string, used scorer.Kind, err error) error {
	others := n.others(used)
	if err == nil || others == "" {
		return err
	}
	return errors.Join(err, fmt.Errorf("%s: %d of %s have %s, which --scorer %s needs; %s",
		path, n.has[used.Needs], count(n.total, "question"), used.Needs, used.Name, others))
}

// printIgnored prints which keys of dataset and corpus have no meaning.
func printIgnored(t *terminal.Terminal, path string, unknown map[string]int) {
	if len(unknown) > 0 {
		t.Field("warning", "%s: unknown fields are ignored: %s", terminal.Line(path), keyCounts(unknown))
	}
}

// listedKeys is the maximum number of keys that keyCounts names.
const listedKeys = 8

// keyCounts returns the keys with the number of their lines.
func keyCounts(counts map[string]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		if len(out) == listedKeys {
			out = append(out, fmt.Sprintf("and %d more", len(counts)-listedKeys))
			break
		}
		out = append(out, fmt.Sprintf("%s (%s)", terminal.Short(k, 40), count(counts[k], "line")))
	}
	return strings.Join(out, ", ")
}

// printInputWarnings prints what run and validate say about the fields of the input.
func printInputWarnings(t *terminal.Terminal, d dataset.Dataset, c *dataset.Corpus) {
	printIgnored(t, d.Path, d.Unknown)
	if c != nil {
		printIgnored(t, c.Path, c.Unknown)
	}
}

// prefixed returns text after the prefix, and "" if there is no text.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
