package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
)

// JUnit writes a document as JUnit XML: a suite for each arm, each group of requirements or each
// pair of runs, with a case for each question or requirement. A case that did not pass is a
// failure, one without a verdict an error, and one that was not run is skipped.
//
// The elements and attributes are those that Jenkins, GitLab and GitHub all understand. Characters
// that are invalid in XML 1.0 are omitted. JUnit returns the error of w.
func JUnit(w io.Writer, d Document) error {
	all := xmlSuites{Name: "evalctl"}
	total := 0.0
	for _, s := range d.suites() {
		x := s.xml()
		all.Tests, all.Failures, all.Errors = all.Tests+x.Tests, all.Failures+x.Failures, all.Errors+x.Errors
		total += s.ms
		all.Suites = append(all.Suites, x)
	}
	all.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

type xmlSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Time     string     `xml:"time,attr"`
	Suites   []xmlSuite `xml:"testsuite"`
}

type xmlSuite struct {
	Name       string         `xml:"name,attr"`
	Tests      int            `xml:"tests,attr"`
	Failures   int            `xml:"failures,attr"`
	Errors     int            `xml:"errors,attr"`
	Skipped    int            `xml:"skipped,attr"`
	Time       string         `xml:"time,attr"`
	Timestamp  string         `xml:"timestamp,attr,omitempty"`
	Properties *xmlProperties `xml:"properties"`
	Cases      []xmlCase      `xml:"testcase"`
}

type xmlProperties struct {
	Properties []xmlProperty `xml:"property"`
}

type xmlProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type xmlCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr,omitempty"`
	Failure *xmlNote `xml:"failure"`
	Error   *xmlNote `xml:"error"`
	Skipped *xmlNote `xml:"skipped"`
}

type xmlNote struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// xml returns the element of a suite.
func (s *suite) xml() xmlSuite {
	x := xmlSuite{
		Name: xmlText(s.name), Tests: len(s.cases), Time: seconds(s.ms), Timestamp: stamp(s.started),
		Cases: make([]xmlCase, 0, len(s.cases)),
	}
	if len(s.properties) > 0 {
		x.Properties = &xmlProperties{}
		for _, p := range s.properties {
			x.Properties.Properties = append(x.Properties.Properties, xmlProperty{p.name, xmlText(p.value)})
		}
	}
	for _, c := range s.cases {
		note := &xmlNote{Type: xmlText(c.kind), Message: xmlText(c.message), Text: xmlText(c.text)}
		e := xmlCase{Class: xmlText(c.class), Name: xmlText(c.name)}
		if !c.untimed {
			e.Time = seconds(c.ms)
		}
		switch c.status {
		case failed:
			e.Failure, x.Failures = note, x.Failures+1
		case errored:
			e.Error, x.Errors = note, x.Errors+1
		case skipped:
			e.Skipped, x.Skipped = note, x.Skipped+1
		}
		x.Cases = append(x.Cases, e)
	}
	return x
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

// seconds formats milliseconds as seconds. A negative time, after a clock was set back, becomes 0.
func seconds(ms float64) string {
	if math.IsNaN(ms) || ms < 0 {
		ms = 0
	}
	return fmt.Sprintf("%.3f", ms/1000)
}
