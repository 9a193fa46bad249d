package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// cell makes text safe in a cell of a Markdown table: one line in which nothing
// is markup.
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

// WriteMarkdown writes the report as Markdown. Text of the daemon's is escaped.
func (r Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Conformance of %s\n\n", escapeCell(r.Endpoint))
	if r.Partial {
		fmt.Fprintf(&b, "**Partial: %d of %d checks were done when the run was stopped.**\n\n", len(r.Results), r.Planned)
	}
	b.WriteString("| group | MUST passed | MUST failed | SHOULD passed | SHOULD failed | skipped |\n|---|--:|--:|--:|--:|--:|\n")
	for _, g := range append(r.Groups(), "") {
		name := escapeCell(g)
		if g == "" {
			name = "**all**"
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", name, r.Count(g, Must, Pass), r.Count(g, Must, Fail),
			r.Count(g, Should, Pass), r.Count(g, Should, Fail), r.Skipped(g))
	}
	for _, l := range []Level{Must, Should} {
		if r.Count("", l, Fail) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## Failed: %s\n\n| check | spec | promise | detail | request |\n|---|---|---|---|---|\n", l)
		for _, res := range r.Results {
			if res.Level == l && res.Status == Fail {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", escapeCell(res.ID), escapeCell(res.Section), escapeCell(res.Sentence), escapeCell(res.Detail), escapeCell(res.Request))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
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

// WriteJUnit writes the report as JUnit XML, a suite for each group. Only a
// failed MUST is a failure: a failed SHOULD is a skipped case that says so. A
// partial report has one more suite, with an error: it must not look green.
func (r Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: xmlText("conformance of " + r.Endpoint), Time: seconds(r.DurationMS)}
	for _, g := range r.Groups() {
		s := junitSuite{Name: "conformance." + g, Timestamp: r.StartedAt.Format("2006-01-02T15:04:05")}
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

func (all *junitSuites) addPartial(r Report) {
	note := &junitNote{Type: "partial", Message: fmt.Sprintf("partial: %d of %d checks were done when the run was stopped", len(r.Results), r.Planned)}
	all.Tests, all.Errors = all.Tests+1, all.Errors+1
	all.Suites = append(all.Suites, junitSuite{
		Name: "conformance", Tests: 1, Errors: 1, Time: seconds(0), Timestamp: r.StartedAt.Format("2006-01-02T15:04:05"),
		Cases: []junitCase{{Name: "run-complete", Class: "conformance", Time: seconds(0), Error: note}},
	})
}

func (s *junitSuite) add(res Result) {
	c := junitCase{Name: res.ID, Class: "conformance." + res.Group, Time: seconds(res.DurationMS)}
	note := &junitNote{Message: xmlText(res.Detail), Text: xmlText(fmt.Sprintf("%s (spec %s)\n%s\n%s", res.Sentence, res.Section, res.Detail, res.Request))}
	s.Tests++
	switch {
	case res.Status == Fail && res.Level == Must:
		note.Type = string(Must)
		c.Failure = note
		s.Failures++
	case res.Status != Pass:
		if res.Status == Fail {
			note.Message = "SHOULD: " + note.Message
		}
		c.Skipped = note
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// xmlText drops what XML 1.0 cannot hold.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "\ufffd"))
}

func seconds(ms float64) string { return fmt.Sprintf("%.3f", ms/1000) }
