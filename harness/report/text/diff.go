package text

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evalctl/harness/compare"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/jsonobj"
	"evalctl/internal/prose"
	"evalctl/internal/terminal"
)

// chunkShown limits the shown text of a retrieved chunk.
const chunkShown = 160

// side is one answer to show: a record of a file.
type side struct {
	name string
	rec  *result.Record
}

// Diff prints the outcome of a question in each file.
func Diff(t *terminal.Terminal, found []*compare.FoundQuestion) {
	sides, missing := sidesOf(found)
	first := sides[0].rec
	t.Field("question", "%s  %s", terminal.Short(first.ID, 80), terminal.Short(strings.Join(first.Tags, ", "), 120))
	printTexts(t, sides, "", func(r *result.Record) string { return r.Question })
	printTexts(t, sides, "reference", func(r *result.Record) string { return r.Reference })
	printTexts(t, sides, "expected", func(r *result.Record) string { return strings.Join(r.Expected, " | ") })
	printTexts(t, sides, "gold", func(r *result.Record) string { return strings.Join(r.ExpectedPaths, ", ") })
	printTexts(t, sides, "checks", func(r *result.Record) string {
		var checks []string
		for _, c := range r.Checks {
			checks = append(checks, c.String())
		}
		return strings.Join(checks, " | ")
	})
	for _, name := range missing {
		t.Field("note", "%s does not have this question", terminal.Short(name, 80))
	}
	t.Blank()
	printSideFigures(t, sides)
	printAnswers(t, sides)
	printRetrievals(t, sides)
}

// sidesOf returns the records to show, and the names of files without the question.
func sidesOf(found []*compare.FoundQuestion) (sides []side, missing []string) {
	paths, sdks := make([]string, len(found)), make([]string, len(found))
	for i, f := range found {
		paths[i] = f.Path
		if f.Result != nil {
			sdks[i] = f.Result.SDK
		}
	}
	for i, name := range compare.Names(paths, sdks) {
		f := found[i]
		if len(f.Records) == 0 {
			missing = append(missing, name)
		}
		for j := range f.Records {
			s := side{name, &f.Records[j]}
			if len(f.Records) > 1 {
				s.name = fmt.Sprintf("%s #%d", name, j+1)
			}
			sides = append(sides, s)
		}
	}
	return sides, missing
}

// printTexts prints a text that should be the same on all sides: once if it is, otherwise once per
// side.
func printTexts(t *terminal.Terminal, sides []side, label string, of func(*result.Record) string) {
	var texts []string
	for _, s := range sides {
		if text := of(s.rec); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		remark := ""
		if len(texts) > 1 {
			for _, s := range sides {
				if of(s.rec) == text {
					remark += " (" + terminal.Short(s.name, 32) + ")"
				}
			}
		}
		t.Field(label, "%s%s", terminal.Line(text), remark)
	}
}

// printSideFigures prints a row for each side.
func printSideFigures(t *terminal.Terminal, sides []side) {
	rows := [][]string{{"", "verdict", "score", "first token", "done", "with waits", "attempts", "mode", "fusion", "model", "tokens", "cost", "gold at"}}
	for _, s := range sides {
		r := s.rec
		felt := r.FeltMS
		if !r.Timed() {
			felt = nil
		}
		rows = append(rows, []string{
			terminal.Short(s.name, 32), outcomeOf(t, r), optional(r.Score, func(v float64) string { return fmt.Sprintf("%.2f", v) }),
			optional(r.FirstToken(), figure.Duration), optional(r.Took(), figure.Duration), optional(felt, figure.Duration), orDash(r.Attempts, fmt.Sprint(r.Attempts)),
			orDash(len(r.EffectiveMode), terminal.Short(r.EffectiveMode, 24)), orDash(len(r.Fusion), terminal.Short(r.Fusion, 24)), orDash(len(r.Model), terminal.Short(r.Model, 32)),
			tokens(r), cost(r), goldAt(r),
		})
	}
	t.Table(withoutEmpty(rows))
	for _, s := range sides {
		why := s.rec.Reason
		if s.rec.Error != nil {
			why = s.rec.Error.Message
		}
		if why != "" {
			t.Field("reason", "%s: %s", terminal.Short(s.name, 32), terminal.Line(why))
		}
		if text := wording.RecipeVerdicts(s.rec); text != "" {
			t.Field("recipes", "%s: %s", terminal.Short(s.name, 32), terminal.Line(text))
		}
	}
}

func outcomeOf(t *terminal.Terminal, r *result.Record) string {
	switch {
	case r.Outcome == result.Errored:
		return t.Tint(false, "ERROR")
	case r.Outcome == result.Unscored:
		return t.Tint(false, "UNSCORED")
	case r.Outcome == result.NoGold:
		return "not asked"
	case r.Outcome == result.NotMeasurable:
		return "not measurable"
	case r.Outcome == result.Unjudged:
		return "unjudged"
	case r.Passed:
		return t.Tint(true, "pass")
	}
	return t.Tint(false, "FAIL")
}

func optional(v *float64, format func(float64) string) string {
	if v == nil || math.IsNaN(*v) {
		return "–"
	}
	return format(*v)
}

func orDash(n int, text string) string {
	if n == 0 {
		return "–"
	}
	return text
}

func tokens(r *result.Record) string {
	if r.Usage == nil {
		return "–"
	}
	return fmt.Sprintf("%d in %d out", r.Usage.InputTokens, r.Usage.OutputTokens)
}

// cost returns the cost of the judge and the reader.
func cost(r *result.Record) string {
	usd := r.JudgeUSD
	if r.Actor != nil {
		usd += r.Actor.USD
	}
	return orDash(int(usd), usd.String())
}

func goldAt(r *result.Record) string {
	switch {
	case r.Retrieval == nil:
		return "–"
	case r.GoldRank() == 0:
		return "not retrieved"
	}
	var ranks []string
	for _, g := range r.Retrieval.Gold {
		if g.Rank > 0 {
			ranks = append(ranks, fmt.Sprint(g.Rank))
		}
	}
	return fmt.Sprintf("rank %s of %d", strings.Join(ranks, ", "), r.Retrieval.Documents)
}

// withoutEmpty removes the columns without values.
func withoutEmpty(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for column := range rows[0] {
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[column] != "–" }) {
			continue
		}
		for i, row := range rows {
			out[i] = append(out[i], row[column])
		}
	}
	return out
}

// printAnswers prints the answer of each side. It marks each sentence that is missing on another
// side.
func printAnswers(t *terminal.Terminal, sides []side) {
	all := make([][]string, len(sides))
	for i, s := range sides {
		all[i] = slices.Collect(prose.Split(terminal.Lines(s.rec.Answer)))
	}
	marked := false
	for i, s := range sides {
		t.Blank()
		fmt.Fprintf(t, "  answer of %s", terminal.Short(s.name, 32))
		if n := len(s.rec.Citations); n > 0 {
			fmt.Fprintf(t, ", with %s", figure.Count(n, "citation"))
		}
		fmt.Fprintln(t)
		if len(all[i]) == 0 {
			fmt.Fprintln(t, "    (none)")
		}
		for _, sentence := range all[i] {
			mark := "    "
			if slices.ContainsFunc(all, func(other []string) bool { return !slices.Contains(other, sentence) }) {
				mark, marked = "  > ", true
			}
			fmt.Fprintln(t, t.Wrap(mark, sentence))
		}
		for _, raw := range s.rec.Citations {
			printCitation(t, raw)
		}
	}
	if marked {
		t.Blank()
		fmt.Fprintln(t, "  > not in all of the answers")
	}
}

func printCitation(t *terminal.Terminal, raw []byte) {
	cite, err := jsonobj.Parse(raw)
	if err != nil {
		return
	}
	text := terminal.Short(cite.Text("document_id", "documentId", "path", "chunk_id", "chunkId"), 80)
	if quote := cite.Text("quote"); quote != "" {
		text += fmt.Sprintf(": %q", terminal.Short(quote, chunkShown))
	}
	fmt.Fprintln(t, t.Wrap("    cites ", text))
}

// printRetrievals prints the retrieved passages of each side, by rank. A star marks gold.
func printRetrievals(t *terminal.Terminal, sides []side) {
	starred := false
	for _, s := range sides {
		if len(s.rec.Retrieved) == 0 {
			continue
		}
		t.Blank()
		fmt.Fprintf(t, "  retrieved by %s\n", terminal.Short(s.name, 32))
		for i, c := range s.rec.Retrieved {
			mark := " "
			if s.rec.IsGold(c) {
				mark, starred = "*", true
			}
			label := fmt.Sprintf("  %s %2d  ", mark, i+1)
			fmt.Fprintln(t, t.Wrap(label, fmt.Sprintf("%s  score %.4g  %s", terminal.Short(wording.Place(c), 80), c.Score, terminal.Short(c.Text, chunkShown))))
		}
	}
	if starred {
		t.Blank()
		fmt.Fprintln(t, "  * gold")
	}
}
