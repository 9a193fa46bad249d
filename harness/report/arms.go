package report

import (
	"fmt"
	"slices"

	"evalctl/harness/report/form"
	"evalctl/harness/result"
	"evalctl/internal/terminal"
)

// sideBySide returns the figures of the arms, which all have a result, their common facts, and the
// questions that some arm did not pass.
func (a Arms) sideBySide() []*form.Report {
	if len(a) == 0 {
		return nil
	}
	var names []form.Name
	var measured []*form.Report
	for i := range a {
		arm := a[i].report()
		arm.Sections = slices.Delete(arm.Sections, failuresAt, failuresAt+1)
		names, measured = append(names, form.Name(a[i].Name)), append(measured, arm)
	}
	differing, common := form.SideBySide(names, measured)
	common.Show(form.Markdown, a.lostList())
	return []*form.Report{
		{Verdict: form.Verdict{Headline: form.F("Arms side by side")}, Sections: []form.Section{differing}},
		{Verdict: form.Verdict{Headline: form.F("The same in all arms")}, Sections: []form.Section{common}},
	}
}

// listedLost is how many questions that an arm did not pass a page of Markdown lists.
const listedLost = 10

// lostList has the questions that some arm did not pass, first those on which the arms disagree.
func (a Arms) lostList() form.List {
	ids, lost := a.lost()
	agree := func(id string) int {
		if slices.ContainsFunc(lost[id], func(rec *result.Record) bool { return rec != nil && rec.Passed }) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(ids, func(x, y string) int { return agree(x) - agree(y) })
	command := []string{"evalctl", "compare", "--question=ID"}
	for _, arm := range a {
		command = append(command, arm.Run.Path)
	}
	return form.List{
		Title: fmt.Sprintf("Questions that an arm did not pass: %d", len(ids)), N: len(ids), Folded: listedLost,
		More: form.F("the result files; one is shown by %s", form.Data(terminal.CommandLine(command...))),
		Item: func(i int) form.Item { return a.item(lost[ids[i]]) },
	}
}

// lost returns the names of the questions that some arm did not pass, in the order of the first
// arms, and by name the record of each arm, nil for an arm that has not asked the question.
func (a Arms) lost() (names []string, records map[string][]*result.Record) {
	records = map[string][]*result.Record{}
	var all []string
	for i, arm := range a {
		for q := range arm.Run.Questions {
			rec := &arm.Run.Questions[q]
			name := caseName(rec)
			if records[name] == nil {
				records[name] = make([]*result.Record, len(a))
				all = append(all, name)
			}
			records[name][i] = rec
		}
	}
	for _, name := range all {
		if slices.ContainsFunc(records[name], func(rec *result.Record) bool { return rec != nil && isLost(rec) }) {
			names = append(names, name)
		}
	}
	return names, records
}

// item returns a question that some arm did not pass as an item of a list: the question and its
// reference once, then the outcome in each arm.
func (a Arms) item(records []*result.Record) form.Item {
	first := slices.IndexFunc(records, func(rec *result.Record) bool { return rec != nil && isLost(rec) })
	asked := slices.DeleteFunc(a[first].Run.parts(records[first]), func(p part) bool {
		return p.what != "question" && p.what != "expected"
	})
	item := form.Item{Head: form.F("%s %s", form.Name(caseName(records[first])), form.Name(group(records[first]))), Below: factsOf(asked)}
	for i, rec := range records {
		words := []form.Text{form.F("not asked")}
		switch {
		case rec == nil:
		case rec.Passed:
			words[0] = form.F("passed")
		case !isLost(rec):
			words[0] = form.F("%s", form.Name(rec.Outcome))
		default:
			words[0] = form.Toned(form.Bad, outcomeWord(rec))
			for _, p := range a[i].Run.parts(rec) {
				if !slices.Contains(asked, p) {
					words = append(words, form.F("%s: %s", p.what, form.Data(p.text)))
				}
			}
		}
		item.Below = append(item.Below, form.Fact{Value: form.F("%s: %s", form.Name(a[i].Name), form.Join("; ", words...)), In: form.Everywhere})
	}
	return item
}
