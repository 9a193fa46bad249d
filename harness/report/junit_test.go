package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"evalctl/harness/result"
)

// allowed has the attributes and the children of each element, as docs/reports.md describes them.
// An attribute with a star is required.
var allowed = map[string]struct{ attributes, children []string }{
	"testsuites": {[]string{"name", "tests*", "failures*", "errors*", "time*"}, []string{"testsuite"}},
	"testsuite": {[]string{"name*", "tests*", "failures*", "errors*", "skipped*", "time*", "timestamp"},
		[]string{"properties", "testcase"}},
	"properties": {nil, []string{"property"}},
	"property":   {[]string{"name*", "value*"}, nil},
	"testcase":   {[]string{"classname*", "name*", "time"}, []string{"failure", "error", "skipped"}},
	"failure":    {[]string{"type", "message*"}, nil},
	"error":      {[]string{"type", "message*"}, nil},
	"skipped":    {[]string{"type", "message*"}, nil},
}

var (
	secondsForm = regexp.MustCompile(`^[0-9]+\.[0-9]{3}$`)
	stampForm   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
)

func TestOneQuestionNotRun(t *testing.T) {
	run := runOf(4)
	run.Result.Planned, run.Result.Stopped = 5, result.StopDaemon
	run.fill()
	arm := Arm{Name: "go", Run: run}
	if cases := arm.suite().cases; cases[len(cases)-1].name != "1 question not run" {
		t.Errorf("%q", cases[len(cases)-1].name)
	}
}

// element is an element of an XML document that was read without knowledge of its form.
type element struct {
	name       string
	attributes map[string]string
	children   []*element
	text       string
}

// parseXML reads an XML document.
func parseXML(t *testing.T, text string) *element {
	t.Helper()
	root := &element{}
	open := []*element{root}
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v", err)
		}
		last := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			last.children, open = append(last.children, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			last.text += string(token)
		}
	}
	if len(root.children) != 1 || root.children[0].name != "testsuites" {
		t.Fatalf("the root is not testsuites")
	}
	return root.children[0]
}

// checkJUnit checks the form of a report, and that its counts are those of its cases.
func checkJUnit(t *testing.T, text string) *element {
	t.Helper()
	root := parseXML(t, text)
	checkElement(t, root)
	sums := map[string]int{}
	for _, s := range root.children {
		counts := map[string]int{}
		for i, c := range s.children {
			if c.name == "properties" && i > 0 {
				t.Error("properties are not first")
			}
			if c.name != "testcase" {
				continue
			}
			counts["tests"]++
			if len(c.children) > 1 {
				t.Errorf("%s has several outcomes", c.attributes["name"])
			}
			for _, outcome := range c.children {
				counts[map[string]string{"failure": "failures", "error": "errors", "skipped": "skipped"}[outcome.name]]++
			}
		}
		for _, name := range []string{"tests", "failures", "errors", "skipped"} {
			if s.attributes[name] != strconv.Itoa(counts[name]) {
				t.Errorf("suite %s: %s is %s, want %d", s.attributes["name"], name, s.attributes[name], counts[name])
			}
			sums[name] += counts[name]
		}
	}
	for _, name := range []string{"tests", "failures", "errors"} {
		if root.attributes[name] != strconv.Itoa(sums[name]) {
			t.Errorf("all: %s is %s, want %d", name, root.attributes[name], sums[name])
		}
	}
	return root
}

func checkElement(t *testing.T, e *element) {
	t.Helper()
	form, ok := allowed[e.name]
	if !ok {
		t.Fatalf("element %s", e.name)
	}
	for name := range e.attributes {
		if !slices.Contains(form.attributes, name) && !slices.Contains(form.attributes, name+"*") {
			t.Errorf("%s has the attribute %s", e.name, name)
		}
	}
	for _, name := range form.attributes {
		if name, required := strings.CutSuffix(name, "*"); required {
			if _, ok := e.attributes[name]; !ok {
				t.Errorf("%s has no attribute %s", e.name, name)
			}
		}
	}
	if s, ok := e.attributes["time"]; ok && !secondsForm.MatchString(s) {
		t.Errorf("%s: time %q", e.name, s)
	}
	if s, ok := e.attributes["timestamp"]; ok && !stampForm.MatchString(s) {
		t.Errorf("%s: timestamp %q", e.name, s)
	}
	for _, c := range e.children {
		if !slices.Contains(form.children, c.name) {
			t.Errorf("%s contains %s", e.name, c.name)
		}
		checkElement(t, c)
	}
}

// TestAnotherParserReadsJUnit reads a report with a parser that is not Go's.
func TestAnotherParserReadsJUnit(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	run := runOf(10)
	run.Questions[6].Answer = hostileText
	run.Questions[6].ID = hostileText
	junit, _, _ := rendered(t, run)
	cmd := exec.CommandContext(t.Context(), python, "-c",
		"import sys, xml.etree.ElementTree as e\nr = e.fromstring(sys.stdin.buffer.read())\n"+
			"print(len(r.findall('.//testcase')), len(r.findall('.//failure')))")
	cmd.Stdin = strings.NewReader(junit)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "10 1" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestIllegalCharacters checks that characters which XML does not have are left out, not replaced.
func TestIllegalCharacters(t *testing.T) {
	run := runOf(7)
	run.Questions[6].ID, run.Questions[6].Answer = "q\x00\ufffe6", "a\x01\x1b b"
	junit, _, _ := rendered(t, run)
	for _, want := range []string{`name="q6"`, "got: a b"} {
		if !strings.Contains(junit, want) {
			t.Errorf("%q is missing:\n%s", want, junit)
		}
	}
}
