package conformance

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// hostile is text from a daemon that tries to control the terminal or the viewer of the report.
const hostile = "\x1b[31mred\x00\u202e|<script>alert(1)</script>\n| x | ]]> & ![i](http://x) `c` \xff\ufffe"

func hostileReport() Report {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	row := func(id string, l Level, s Verdict, detail string) Result {
		c := newCheck(l, id, "4.2", "A requirement.", nil).Check
		return Result{Check: c, Verdict: s, Detail: detail, Request: "GET /v1/brains/x → 200", DurationMS: 12.5}
	}
	return Report{Endpoint: "http://127.0.0.1:1", StartedAt: at, DurationMS: 1500, Results: []Result{
		row("documents-a", Must, Kept, ""), row("documents-b", Must, Broken, hostile),
		row("events-a", Should, Broken, "want "+hostile), row("events-b", Must, NotJudged, "needs a token"),
	}}
}

func TestMarkdownIsEscaped(t *testing.T) {
	var b bytes.Buffer
	if err := hostileReport().WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, bad := range []string{"\x1b", "\x00", "\u202e", "<script", "![i](", "| x |", "`c`"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is in the report:\n%s", bad, got)
		}
	}
	for _, want := range []string{
		"| documents | 1 | 1 | 0 | 0 | 0 |", "| events | 0 | 0 | 0 | 1 | 1 |", "| **all** | 1 | 1 | 0 | 1 | 1 |",
		"## Broken: MUST", "## Broken: SHOULD", "&lt;script&gt;",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := hostileReport().WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v:\n%s", err, b.String())
	}
	if got.Tests != 4 || got.Failures != 1 || got.Skipped != 2 || len(got.Suites) != 2 || got.Time != "1.500" {
		t.Errorf("got %+v", got)
	}
	docs, events := got.Suites[0], got.Suites[1]
	failure := docs.Cases[1].Failure
	if failure == nil || failure.Type != "MUST" || !strings.Contains(failure.Text, "<script>") {
		t.Errorf("got %+v", docs.Cases[1])
	}
	if events.Failures != 0 || events.Cases[0].Skipped == nil || !strings.HasPrefix(events.Cases[0].Skipped.Message,
		"SHOULD: want") {
		t.Errorf("got %+v", events.Cases[0])
	}
}

// Text from the daemon cannot break the structure of either format.
func TestTextIsEscaped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		c := escapeCell(text)
		if strings.ContainsAny(c, "\n\r\t\x00\x1b<>") || !utf8.ValidString(c) {
			t.Fatalf("cell %q", c)
		}
		if n := strings.Count(c, "|"); n != strings.Count(c, `\|`) {
			t.Fatalf("cell %q has an unescaped pipe", c)
		}
		r := hostileReport()
		r.Results[1].Detail = text
		var b bytes.Buffer
		if err := r.WriteJUnit(&b); err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(&b); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
}
