package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// escapeCell returns text for a cell of a Markdown table: one line without markup.
func escapeCell(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case r == '\n', r == '\t', r == '\r':
			b.WriteByte(' ')
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case strings.ContainsRune("|\\`*_[]~", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
			fmt.Fprintf(&b, "U+%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// WriteMarkdown writes the report as Markdown. Text from the daemon is escaped.
func (r Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Conformance of %s\n\n", escapeCell(r.Endpoint))
	if r.Partial {
		fmt.Fprintf(&b, "**Partial: %s.**\n\n", escapeCell(r.progress()))
	}
	b.WriteString("| group | MUST kept | MUST broken | SHOULD kept | SHOULD broken | not judged |\n")
	b.WriteString("|---|--:|--:|--:|--:|--:|\n")
	for _, g := range append(r.Groups(), "") {
		name := escapeCell(g)
		if g == "" {
			name = "**all**"
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", name, r.Count(g, Must, Kept), r.Count(g, Must, Broken),
			r.Count(g, Should, Kept), r.Count(g, Should, Broken), r.NotJudged(g))
	}
	for _, l := range []Level{Must, Should} {
		if r.Count("", l, Broken) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## Broken: %s\n\n", l)
		b.WriteString("| check | spec | requirement | detail | request |\n|---|---|---|---|---|\n")
		for _, res := range r.Results {
			if res.Level == l && res.Verdict == Broken {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", escapeCell(res.ID), escapeCell(res.Section),
					escapeCell(res.Sentence), escapeCell(res.Detail), escapeCell(res.Request))
			}
		}
	}
	r.writeNotJudged(&b)
	if len(r.BrainsLeft) > 0 {
		b.WriteString("\n## Brains left behind\n\n")
		for _, id := range r.BrainsLeft {
			fmt.Fprintf(&b, "- %s\n", escapeCell(id))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeNotJudged writes the checks without a verdict and why they have none.
func (r Report) writeNotJudged(b *strings.Builder) {
	if r.NotJudged("") == 0 {
		return
	}
	b.WriteString("\n## Not judged\n\n| check | reason | detail | request |\n|---|---|---|---|\n")
	for _, res := range r.Results {
		if res.Verdict == NotJudged {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", escapeCell(res.ID), escapeCell(res.Reason.String()),
				escapeCell(res.Detail), escapeCell(res.Request))
		}
	}
}

// junitCounts are the attributes that a suite and the list of suites have in common.
type junitCounts struct {
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`
}

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitNote `xml:"failure"`
	Error   *junitNote `xml:"error"`
	Skipped *junitNote `xml:"skipped"`
}

type junitNote struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as JUnit XML with one suite per group. Only a broken MUST is a
// failure. A broken SHOULD and a check without a verdict are skipped cases whose messages say so. A
// partial report has an additional suite with an error, so that it does not count as a success.
func (r Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: xmlText("conformance of " + r.Endpoint)}
	all.Time = seconds(r.DurationMS)
	for _, g := range r.Groups() {
		s := junitSuite{Name: "conformance." + g, Timestamp: r.timestamp()}
		spent := 0.0
		for _, res := range r.Results {
			if res.Group == g {
				s.add(res)
				spent += res.DurationMS
			}
		}
		s.Time = seconds(spent)
		all.Tests, all.Failures, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Skipped+s.Skipped
		all.Suites = append(all.Suites, s)
	}
	if r.Partial {
		all.addPartial(r)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// progress describes a partial report.
func (r Report) progress() string {
	text := fmt.Sprintf("%d of %d checks were done when the run was stopped", len(r.Results), r.Planned)
	if r.Death != nil {
		text += ": the daemon died " + r.Death.String()
	}
	return text
}

func (r Report) timestamp() string { return r.StartedAt.Format("2006-01-02T15:04:05") }

func (all *junitSuites) addPartial(r Report) {
	note := &junitNote{Type: "partial", Message: xmlText("partial: " + r.progress())}
	all.Tests, all.Errors = all.Tests+1, all.Errors+1
	all.Suites = append(all.Suites, junitSuite{
		Name: "conformance", junitCounts: junitCounts{Tests: 1, Errors: 1, Time: seconds(0)}, Timestamp: r.timestamp(),
		Cases: []junitCase{{Name: "run-complete", Class: "conformance", Time: seconds(0), Error: note}},
	})
}

func (s *junitSuite) add(res Result) {
	c := junitCase{Name: res.ID, Class: "conformance." + res.Group, Time: seconds(res.DurationMS)}
	text := fmt.Sprintf("%s (spec %s)\n%s\n%s", res.Sentence, res.Section, res.Detail, res.Request)
	note := &junitNote{Message: xmlText(res.Detail), Text: xmlText(text)}
	s.Tests++
	switch {
	case res.Verdict == Broken && res.Level == Must:
		note.Type = string(Must)
		c.Failure = note
		s.Failures++
	case res.Verdict != Kept:
		prefix := "SHOULD: "
		if res.Verdict == NotJudged {
			prefix = "not judged, " + res.Reason.String() + ": "
		}
		note.Message = prefix + note.Message
		c.Skipped = note
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// xmlText removes characters that are invalid in XML 1.0.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' ||
			r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "\ufffd"))
}

func seconds(ms float64) string { return fmt.Sprintf("%.3f", ms/1000) }
