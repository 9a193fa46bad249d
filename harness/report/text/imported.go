package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evalctl/harness/key"
	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/terminal"
)

// listedUnmatched is how many answers without a question a terminal lists.
const listedUnmatched = 10

// Imported says where the answers of a result come from and what became of them. It prints nothing of
// a result whose answers are evalctl's own.
func Imported(t *terminal.Terminal, res *result.Result) {
	im := res.Imported
	if im == nil {
		return
	}
	for _, f := range im.Files {
		t.Field("imported", "%s  %s, %s, sha256 %.8s…", terminal.Line(f.Path), f.Format, figure.Count(f.Answers, "answer"), f.SHA256)
		t.Field("read", "%s", terminal.Line(pairs(f.Mapped, " from ", ", ")))
		if len(f.LeftOut) > 0 {
			t.Field("left out", "%s", terminal.Line(strings.Join(counted(f.LeftOut), ", ")))
		}
	}
	t.Field("questions", "%s found: %s", figure.Count(res.Planned, "question"), strings.Join(counted(im.MatchedBy), ", "))
	if len(im.Conversations) > 0 {
		t.Field("talks", "%s", terminal.Line(pairs(im.Conversations, " is ", ", ")))
	}
	if n := len(im.Unanswered); n > 0 {
		t.Field("unanswered", "%s of the dataset without an answer, which do not count", figure.Count(n, "question"))
	}
	if n := len(im.GoldDiffers); n > 0 {
		first := im.GoldDiffers[0]
		t.Field("gold", "%s with another gold than the dataset, which counts; %s: %.60q, in the dataset %.60q",
			figure.Count(n, "question"), terminal.Line(first.ID), first.InFile, first.Dataset)
	}
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

// pairs returns the entries of a map in order of the key.
func pairs(m map[string]string, between, separator string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, key+between+m[key])
	}
	return strings.Join(out, separator)
}

// counted returns keys with their counts in order of the key.
func counted(m map[string]int) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s (%d)", key, m[key]))
	}
	return out
}
