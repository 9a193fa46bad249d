package mapping

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"evalctl/internal/printable"
)

// tryQuestion finds out whether searching for an unchanged question finds a text.
func (t *trial) tryQuestion(ctx context.Context) {
	a, err := t.call(ctx, t.one, "search", t.p.Search, t.asked(question(t.samples)))
	if err != nil || locate(a, t.samples[:1]) == nil {
		t.p.Query = Words
		t.p.note("a question with the words of a text does not find it, and one of its words does: keywords are searched for")
	}
}

// tryNothing finds out how a reply without results looks. found is set if the reply has samples, as
// those of a search by meaning do while there are any.
func (t *trial) tryNothing(ctx context.Context) (found bool) {
	const absent = "qzxvabsentword"
	a, err := t.call(ctx, t.one, "search", t.p.Search, t.asked(absent))
	if err != nil {
		t.p.note("a search for what cannot be found is an error, which counts as a failure: %v", err)
		return false
	}
	m, err := t.p.Mapping()
	if err != nil {
		return false
	}
	parsed, err := Parse("the proposal", m)
	if err != nil {
		return false
	}
	p, err := parsed.search.reply.read(ctx, a, "search")
	written := slices.ContainsFunc(t.samples, func(s *sample) bool { return strings.Contains(a.text(), s.beginning()) })
	if err == nil && (len(p.items) == 0 || written) {
		return written
	}
	none := nothing(a.text(), absent)
	if r, err := regexp.Compile(none); err != nil || r.MatchString(t.reply) { // which begins in the same way
		none = `^\s*` + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(a.text())), absent, ".*") + `\s*$`
	}
	t.p.found.none = none
	return false
}

// nothing returns a pattern for a reply without results, from its beginning or from its first JSON
// string.
func nothing(reply, query string) string {
	text, start := strings.TrimSpace(reply), "^"
	if strings.HasPrefix(text, "{") {
		m := regexp.MustCompile(`"[A-Za-z_]*(?:message|reason|detail|error|status|text|result)[A-Za-z_]*":\s*"[^"]+"`).FindString(text)
		if m == "" {
			return ""
		}
		text, start = m, ""
	}
	text, _, _ = strings.Cut(text, "\n")
	text, _, _ = strings.Cut(text, query)
	text = printable.First(text, 60)
	if strings.TrimSpace(text) == "" {
		return "^\\s*$"
	}
	return start + regexp.QuoteMeta(strings.TrimRight(text, " '\"“:"))
}

// separate finds out how to keep brains apart.
func (t *trial) separate(ctx context.Context) {
	apart := func(one caller, values map[string]any) bool {
		a, err := t.call(ctx, one, "search elsewhere", t.p.Search, values)
		return err != nil || locate(a, t.samples) == nil
	}
	switch {
	case t.starts():
		separate := false
		err := t.elsewhere(ctx, func(other caller) { separate = apart(other, t.asked(t.query)) })
		if err == nil && separate {
			t.p.Brains, t.p.env = PerProcess, t.homeOf()
			return
		}
		t.p.note("a second process with another home finds what the first has written: one store is assumed (brains: one)")
	case uses(t.p.Remember.Arguments, "{brain}") && uses(t.p.Search.Arguments, "{brain}"):
		values := t.asked(t.query)
		values["brain"] = t.brainOf() + "-other"
		if apart(t.one, values) {
			t.p.Brains = ByArgument
			return
		}
		fallthrough
	default:
		t.p.note("nothing keeps brains apart: one store is assumed (brains: one)")
	}
	t.p.Create = nil
}
