package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// listedUnmatched limits the listed answers without a question.
const listedUnmatched = 10

// Imported prints where the answers of a result come from and how they were used. It prints nothing
// for evalctl's own answers.
func Imported(t *terminal.Terminal, res *result.Result) {
	im := res.Imported
	if im == nil {
		return
	}
	for _, f := range im.Files {
		t.Field("imported", "%s  %s, %s, sha256 %.8s…", terminal.Line(f.Path), f.Format, figure.Count(f.Answers, "answer"), f.SHA256)
		t.Field("read", "%s", terminal.Line(pairs(f.Mapped, " from ")))
		if len(f.LeftOut) > 0 {
			t.Field("left out", "%s", terminal.Line(strings.Join(counted(f.LeftOut), ", ")))
		}
	}
	disagreements(t, im.Stated)
	if c := im.StatedCost; c != nil {
		t.Field("cost", "%s by the files, stated of %s; nothing was paid here", c.USD, figure.Count(c.Answers, "answer"))
	}
	if res.Votes != nil {
		t.Field("votes", "%s", wording.Votes(res.Votes))
		if !slices.ContainsFunc(im.Stated, func(s result.StatedTotal) bool { return s.Agrees && (s.Figure == "rate" || s.Figure == "correct") }) {
			t.Field("", "no total in the files tells the rule; votes in a mapping file says another one")
		}
	}
	each := ""
	if k := res.Identity.Dataset.Repeats; k > 1 {
		each = fmt.Sprintf(" with %d answers each", k)
	}
	t.Field("questions", "%s found%s: %s", figure.Count(res.Planned/max(1, res.Identity.Dataset.Repeats), "question"), each,
		strings.Join(counted(im.MatchedBy), ", "))
	if len(im.Conversations) > 0 {
		t.Field("talks", "%s", terminal.Line(pairs(im.Conversations, " is ")))
	}
	if n := len(im.Unanswered); n > 0 {
		t.Field("unanswered", "%s of the dataset without an answer, which do not count", figure.Count(n, "question"))
	}
	if n := len(im.GoldDiffers); n > 0 {
		first := im.GoldDiffers[0]
		t.Field("gold", "%s with another gold than the dataset, which counts; %s: %.60q, in the dataset %.60q",
			figure.Count(n, "question"), terminal.Line(first.ID), first.InFile, first.Dataset)
	}
	for _, r := range im.Renamed {
		t.Field("type", "%s of the benchmark's type %s are called %s, the name of another type", figure.Count(r.Answers, "answer"),
			terminal.Line(r.Benchmark), terminal.Line(r.InFile))
	}
	errata(t, im.Errata)
	missing := key.Missing(key.Compare, &key.File{Result: res})
	for i, name := range missing {
		if flag := map[string]string{"judge": "--judge-id", "judge_prompt": "--judge-id", "reader": "--reader-id", "dataset": "--dataset"}[name]; flag != "" {
			missing[i] += " (" + flag + ")"
		}
	}
	if len(missing) > 0 {
		t.Field("unknown", "the files do not say, and no flag of evalctl import did, so that no result is compared with this one: %s",
			strings.Join(missing, ", "))
	}
	if n := len(im.Unmatched); n > 0 {
		t.Field("UNMATCHED", "%s without a question, which do not count:", figure.Count(n, "answer"))
		for _, u := range im.Unmatched[:min(n, listedUnmatched)] {
			t.Field("", "%s  %s", terminal.Line(u.Place), terminal.Line(u.Reason))
		}
		if n > listedUnmatched {
			t.Field("", "… and %d more, all in the result", n-listedUnmatched)
		}
	}
}

// disagreements lists stated totals that differ from the answers.
func disagreements(t *terminal.Terminal, stated []result.StatedTotal) {
	agree := 0
	for _, s := range stated {
		if s.Agrees {
			agree++
			continue
		}
		t.Field("STATED", "%s: %s is %v, and the answers in the file give %.6g", terminal.Line(s.Path), terminal.Line(s.Place), s.InFile, s.Counted)
	}
	if agree > 0 {
		t.Field("stated", "%s of the files follow from their answers", figure.Count(agree, "total"))
	}
}

// errata prints the effect of errata on verdicts that were made before them.
func errata(t *terminal.Terminal, e *result.ImportedErrata) {
	if e == nil {
		return
	}
	t.Field("errata", "%s judged by the old key, %d by an unknown one, %d excluded", figure.Count(len(e.OldKey), "question"),
		len(e.Unknown), len(e.Excluded))
	t.Field("", "all answers %s, without these questions %s", share(e.All), share(e.Without))
}

// share formats a pass rate with its counts.
func share(n result.Counts) string {
	return fmt.Sprintf("%d/%d %s", n.Passed, n.Total, figure.Rate(n.PassRate()))
}

// ImportedVerdicts prints how many imported answers lack a verdict, and the mean of the verdicts
// over the types of questions.
func ImportedVerdicts(t *terminal.Terminal, res *result.Result) {
	switch n := res.Counts.Unjudged; {
	case n > 0 && res.Total == 0:
		t.Field("unjudged", "the files have no verdict: evalctl rescore judges the answers")
	case n > 0:
		t.Field("unjudged", "%s of %d have no verdict and do not count; evalctl rescore judges them", figure.Count(n, "answer"), n+res.Total)
	}
	if mean := wording.TypeMean(res); mean != "" {
		t.Field("type mean", "%s", mean)
	}
}

// pairs joins the entries of a map, ordered by key.
func pairs(m map[string]string, between string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, key+between+m[key])
	}
	return strings.Join(out, ", ")
}

// counted returns keys with their counts, ordered by key.
func counted(m map[string]int) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s (%d)", key, m[key]))
	}
	return out
}
