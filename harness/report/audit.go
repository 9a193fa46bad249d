package report

import (
	"fmt"

	"evalctl/harness/audit"
	"evalctl/harness/report/form"
	"evalctl/internal/figure"
)

// Audit is the document of an audit.
type Audit struct{ *audit.Audit }

func (Audit) suites() []suite           { return nil }
func (Audit) annotations() []annotation { return nil }

// answerTones are the tones of answers to claims.
var answerTones = map[audit.Answer]form.Tone{audit.Shown: form.Bad, audit.NotShown: form.Good, audit.Unknown: form.None}

func (a Audit) reports() []*form.Report {
	r := &form.Report{Sections: []form.Section{a.files()}}
	shown, unknown := 0, 0
	for i := range a.Findings {
		switch a.Findings[i].Says {
		case audit.Shown:
			shown++
		case audit.Unknown:
			unknown++
		}
		r.Sections = append(r.Sections, finding(&a.Findings[i]))
	}
	summary := fmt.Sprintf("%d of %d claims are shown by the files, %d cannot be answered from them", shown, len(a.Findings), unknown)
	r.Verdict = form.Verdict{
		Tone: form.None, Mark: "≡", Word: "Audit", Title: form.F("Audit of %s", figure.Count(len(a.Subjects), "file")),
		Headline: form.F("Audit: %s", summary), Figure: figure.Count(len(a.Findings), "claim"),
		Sentences: []form.Text{
			form.F("%s.", summary),
			form.F("Each section has the claim, the evidence in the files, a command that shows the same, and what cannot be said. Nothing was asked of a model."),
		},
	}
	return []*form.Report{r}
}

// files lists the audited files, so that others can find them.
func (a Audit) files() form.Section {
	s := form.Section{ID: "files", Title: "Files"}
	t := form.NewTable(form.F("%s", figure.Count(len(a.Subjects), "file")), "file", ">answers", ">judged", ">passed", ">rate", "|sources", "|judge")
	for i := range a.Subjects {
		res := &a.Subjects[i].Result
		n := res.Counts
		t.Row(form.F("%s", form.Name(a.Subjects[i].Name)), n.Finished(), n.Scored, n.Passed, figure.Rate(res.PassRate), sourcesOf(a.Subjects[i]), givenJudge(a.Subjects[i]))
	}
	s.Show(form.Everywhere, t)
	return s
}

// sourcesOf names the files of answers with their digests.
func sourcesOf(s audit.Subject) form.Text {
	if s.Result.Imported == nil {
		return form.F("%s", form.Path(s.Path))
	}
	var parts []form.Text
	for _, f := range s.Result.Imported.Files {
		parts = append(parts, form.F("%s sha256 %s", form.Path(f.Path), form.Digest(f.SHA256)))
	}
	return form.Join(", ", parts...)
}

// givenJudge names the judge of the verdicts.
func givenJudge(s audit.Subject) form.Text {
	id := s.Result.Identity
	switch im := id.Imported; {
	case id.Judge != nil:
		return form.F("%s", form.Name(id.Judge.Model))
	case im != nil && im.JudgeID != "":
		return form.F("%s", form.Name(im.JudgeID))
	case im != nil && len(im.JudgeModels) > 0:
		return form.Join(", ", form.F("%s", form.Names(im.JudgeModels)))
	}
	return form.F("not named")
}

// finding returns the section of a claim.
func finding(f *audit.Finding) form.Section {
	s := form.Section{ID: f.Name, Title: fmt.Sprintf("%d. %s", f.Number, f.Claim)}
	s.Show(form.Terminal, form.Gap{})
	s.FactIn(form.Terminal|form.Markdown, fmt.Sprintf("claim %d", f.Number), "%s", f.Claim)
	s.Fact("says", "%s", form.Toned(answerTones[f.Says], string(f.Says)))
	for i, e := range f.Evidence {
		name := "evidence"
		if i > 0 {
			name = ""
		}
		s.Fact(name, "%s", form.Data(e))
	}
	if len(f.Rows) > 0 {
		columns := make([]any, len(f.Header))
		for i, h := range f.Header {
			columns[i] = h
		}
		t := form.NewTable(form.F("%s", f.Claim), columns...)
		for _, row := range f.Rows {
			cells := make([]any, len(row))
			for i, c := range row {
				cells[i] = form.Data(c)
			}
			t.Row(cells...)
		}
		s.Show(form.Everywhere, t)
	}
	s.Fact("command", "%s", form.Data(f.Command))
	s.Fact("not said", "%s", f.Cannot)
	return s
}
