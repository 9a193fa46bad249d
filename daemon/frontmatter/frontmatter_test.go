package frontmatter_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/frontmatter"
	"evalctl/internal/prose"
)

// document returns a Document without BadDate.
func document(body string, f frontmatter.Fields) frontmatter.Document {
	return frontmatter.Document{Fields: f, Body: body}
}

func TestParse(t *testing.T) {
	type fields = frontmatter.Fields
	day := time.Date(2024, 5, 8, 0, 0, 0, 0, time.UTC)
	noon := day.Add(12 * time.Hour)
	metadata := func(m map[string]any) fields { return fields{Metadata: m} }
	for name, tt := range map[string]struct {
		text string
		want frontmatter.Document
	}{
		"nothing":             {"", document("", fields{})},
		"no front matter":     {"# Tea\n", document("# Tea\n", fields{})},
		"empty front matter":  {"---\n---\nx", document("x", fields{})},
		"nothing below":       {"---\n---\n", document("", fields{})},
		"empty, by dots":      {"---\r\n\r\n...\r\nx", document("x", fields{})},
		"only comments":       {"---\n# one\n\n# two\n---\nx", document("x", fields{})},
		"null":                {"---\n~ # none\n---\nx", document("x", fields{})},
		"text called null":    {"---\n'null'\n---\nx", document("---\n'null'\n---\nx", fields{})},
		"an empty list":       {"---\n[]\n---\nx", document("---\n[]\n---\nx", fields{})},
		"no keys":             {"---\n{}\n---\nx", document("x", fields{})},
		"aliases":             {"---\nname: &n Harbour log\ntitle: *n\nsource: &s ingest\nother: *s\ntags: [*n, b]\n---\nx", frontmatter.Document{BadTitle: true, Body: "x", Fields: fields{Tags: []string{"b"}, Source: "ingest", Metadata: map[string]any{"name": "Harbour log"}}}},
		"no closing line":     {"---\ntitle: a\n", document("---\ntitle: a\n", fields{})},
		"not YAML":            {"---\n[a: :\n---\nx", document("---\n[a: :\n---\nx", fields{})},
		"not a mapping":       {"---\na rule\n---\nx", document("---\na rule\n---\nx", fields{})},
		"not at the top":      {"\n---\ntitle: a\n---\n", document("\n---\ntitle: a\n---\n", fields{})},
		"closed at the end":   {"---\ntitle: a\n---", document("", fields{Title: "a"})},
		"closed by dots":      {"---\ntitle: a\n... \nx", document("x", fields{Title: "a"})},
		"Windows lines":       {"---\r\ntags: a, b ,,c\r\ncreated_at: 2024-05-08T12:00:00Z\r\n---\r\nhi\r\n", document("hi\r\n", fields{Tags: []string{"a", "b", "c"}, Created: noon})},
		"byte order mark":     {"\ufeff---\ntitle: a\n---\nx", document("x", fields{Title: "a"})},
		"invalid UTF-8":       {"---\ntitle: a\xff\n---\nb\xfe", document("b\ufffd", fields{Title: "a\ufffd"})},
		"a control character": {"---\ntitle: a\x00\n---\nx", document("---\ntitle: a\x00\n---\nx", fields{})},
		"fields": {"---\ntitle: Trip\ntags: [sea, 7, Old Town]\ndate: 2024-05-08\nsource: compile\ncreated_at: 2024-05-08T12:00:00Z\n---\n# Other\n",
			document("# Other\n", fields{Title: "Trip", Tags: []string{"sea", "7", "Old Town"}, Date: day, Source: "compile", Created: noon})},
		"types": {"---\ni: -3\nf: 1.5\ne: 1e+06\nb: true\nz: null\ns: a b\nq: \"5\"\nx: !!str 5\nbig: 9007199254740992\n---\n",
			document("", metadata(map[string]any{"i": -3, "f": 1.5, "e": 1e6, "b": true, "z": nil, "s": "a b", "q": "5", "x": "5", "big": 1 << 53}))},
		"every spelling of null": {"---\na:\nb: ~\nc: NULL\nd: 'null'\n---\n", document("", metadata(map[string]any{"a": nil, "b": nil, "c": nil, "d": "null"}))},
		"digits are kept": {"---\na: 0012\nb: 1.10\nc: 0x1F\nd: 1_000\ne: +5\nf: 1e3\ng: 9007199254740993\nh: 1.0\ni: 99999999999999999999\n---\n",
			document("", metadata(map[string]any{"a": "0012", "b": "1.10", "c": "0x1F", "d": "1_000", "e": "+5", "f": "1e3", "g": "9007199254740993", "h": "1.0", "i": "99999999999999999999"}))},
		"text that is no number": {"---\na: .nan\nb: -.inf\nc: 2001-01-01\nd: True\ne: yes\nf: !!binary eA==\ng: !!bool x\nh: !!float NaN\n---\n",
			document("", metadata(map[string]any{"a": ".nan", "b": "-.inf", "c": "2001-01-01", "d": "True", "e": "yes", "f": "eA==", "g": "x", "h": "NaN"}))},
		"a session is text":    {"---\nsession_id: 12\n---\n", document("", metadata(map[string]any{"session_id": "12"}))},
		"no session":           {"---\nsession_id:\n---\n", document("", metadata(map[string]any{"session_id": nil}))},
		"tags of a number":     {"---\ntags: 7\n---\n", document("", fields{Tags: []string{"7"}})},
		"tags with commas":     {"---\ntags: [\" a,b\", null, [c], '', {d: e}]\n---\n", document("", fields{Tags: []string{"a", "b"}})},
		"no tags":              {"---\ntags: ', ,'\n---\n", document("", fields{})},
		"null tags":            {"---\ntags: null\n---\n", document("", fields{})},
		"title of a list":      {"---\ntitle: [a]\n---\n", frontmatter.Document{BadTitle: true}},
		"title of a number":    {"---\ntitle: 007\n---\n", document("", fields{Title: "007"})},
		"null title":           {"---\ntitle: ~\n---\n", document("", fields{})},
		"title of lines":       {"---\ntitle: |\n  two\n  lines\n---\n", document("", fields{Title: "two\nlines\n"})},
		"another source":       {"---\nsource: web\n---\n", document("", metadata(map[string]any{"source": "web"}))},
		"lists and mappings":   {"---\na: [1]\nb: {c: d}\ne: f\n---\n", document("", metadata(map[string]any{"e": "f"}))},
		"an alias":             {"---\na: &x b\nc: *x\n---\n", document("", metadata(map[string]any{"a": "b"}))},
		"an alias as a key":    {"---\n&x a: b\n*x : c\n---\n", document("", metadata(map[string]any{"a": "b"}))},
		"keys of no text":      {"---\n'': a\n? [b]\n: c\n---\n", document("", fields{})},
		"a long key":           {"---\n" + strings.Repeat("ä", 128) + ": a\nx" + strings.Repeat("ä", 128) + ": b\n---\n", document("", metadata(map[string]any{strings.Repeat("ä", 128): "a"}))},
		"the first of two":     {"---\ntitle: a\ntitle: b\nk: 1\nk: 2\ntags: c\ntags: d\n---\n", document("", fields{Title: "a", Tags: []string{"c"}, Metadata: map[string]any{"k": 1}})},
		"the zero time":        {"---\ndate: 0001-01-01T00:00:00Z\n---\n", document("", metadata(map[string]any{"date": "0001-01-01T00:00:00Z"}))},
		"bad created_at":       {"---\ndate: 2024-05-08\ncreated_at: soon\n---\n", document("", fields{Date: day, Metadata: map[string]any{"created_at": "soon"}})},
		"bad created_at alone": {"---\ncreated_at: soon\n---\n", frontmatter.Document{BadDate: true, Fields: metadata(map[string]any{"created_at": "soon"})}},
		"bad date":             {"---\ncreated_at: 2024-05-08\ndate: soon\n---\n", frontmatter.Document{BadDate: true, Fields: fields{Created: day, Metadata: map[string]any{"date": "soon"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, frontmatter.Parse(tt.text)); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
			want := slices.Collect(prose.Sentences(tt.want.Body))
			if got := slices.Collect(prose.Sentences(strings.ToValidUTF8(tt.text, "\ufffd"))); !slices.Equal(got, want) {
				t.Errorf("the harness reads %q, want %q", got, want)
			}
		})
	}
}

// Dates as people and programs write them. A date that cannot be read differs from none.
func TestDates(t *testing.T) {
	const bad = "bad"
	for written, want := range map[string]string{
		"2024-05-01":                          "2024-05-01T00:00:00Z",
		"2024-5-1":                            "2024-05-01T00:00:00Z",
		"2024/05/01":                          "2024-05-01T00:00:00Z",
		"20240501":                            "2024-05-01T00:00:00Z",
		"\"2024-05-01\"":                      "2024-05-01T00:00:00Z",
		"'2024-05-01T13:00:00'":               "2024-05-01T13:00:00Z",
		"2024-05-01T13:00:00":                 "2024-05-01T13:00:00Z",
		"2024-05-01 13:00:00":                 "2024-05-01T13:00:00Z",
		"2024-05-01 13:00":                    "2024-05-01T13:00:00Z",
		"2024-05-01T13:00Z":                   "2024-05-01T13:00:00Z",
		"2024-05-01t13:00:00.25z":             bad, // the zone is written large
		"2024-05-01t13:00:00.25-05:00":        "2024-05-01T18:00:00.25Z",
		"2024-05-01 13:00:00 -5":              "2024-05-01T18:00:00Z",
		"2024-05-01 13:00:00 +0200":           "2024-05-01T11:00:00Z",
		"2024-05-01T13:00:00+02":              "2024-05-01T11:00:00Z",
		"2024-05-01 1:00:00 UTC":              "2024-05-01T01:00:00Z",
		"2024/05/01 13:00":                    "2024-05-01T13:00:00Z",
		"2024/05/01 (Wed) 13:00":              "2024-05-01T13:00:00Z",
		"Wed, 01 May 2024 13:00:00 GMT":       "2024-05-01T13:00:00Z",
		"Wed, 01 May 2024 13:00:00 +0200":     "2024-05-01T11:00:00Z",
		"May 1, 2024":                         "2024-05-01T00:00:00Z",
		"1 Sep 2024":                          "2024-09-01T00:00:00Z",
		"":                                    "",
		"null":                                "",
		"~":                                   "",
		"''":                                  "",
		"2024-02-30":                          bad,
		"2024":                                bad,
		"2024-05":                             bad,
		"01/05/2024":                          bad,
		"2024-05-01 13:00:00 PST":             bad,
		"tomorrow":                            bad,
		"[2024-05-01]":                        bad,
		"{day: 1}":                            bad,
		"2024-05-01\ndate: soon":              "2024-05-01T00:00:00Z", // the first of two
		"2024-05-01\ncreated_at: soon":        "2024-05-01T00:00:00Z",
		"soon\ncreated_at: 2024-05-01":        bad,
		"null\ncreated_at: 2024-05-01":        "2024-05-01T00:00:00Z",
		"null\ncreated_at: soon":              bad,
		"*d":                                  "",
		"*d\ncreated_at: 2024-05-01":          "2024-05-01T00:00:00Z",
		"&d 2024-05-01\ncreated_at: *d\nx: y": "2024-05-01T00:00:00Z",
		"0000-01-01":                          "bad",
		"9999-12-31T23:59:59-01:00":           "bad",
	} {
		doc := frontmatter.Parse("---\nday: &d soon\ndate: " + written + "\n---\nx")
		got := ""
		if doc.BadDate {
			got = bad
		} else if !doc.When().IsZero() {
			got = doc.When().UTC().Format(time.RFC3339Nano)
		}
		if got != want || doc.Body != "x" || doc.BadDate && !doc.When().IsZero() {
			t.Errorf("%q is %q, want %q: %+v", written, got, want, doc)
		}
	}
}

func TestFormatDate(t *testing.T) {
	for in, want := range map[string]string{
		"2024-03-02T00:00:00Z":          "2024-03-02",
		"2024-03-02T18:30:00+02:00":     "2024-03-02T18:30:00+02:00",
		"2024-03-02T18:30:00.120+02:00": "2024-03-02T18:30:00.12+02:00",
		"2024-03-02T02:00:00+02:00":     "2024-03-02",
	} {
		at, err := time.Parse(time.RFC3339, in)
		if err != nil {
			t.Fatal(err)
		}
		if got := frontmatter.FormatDate(at); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	const limit = 64 << 10
	for size, want := range map[int]string{limit: "a", limit + 1: ""} {
		header := "title: a\n#"
		header += strings.Repeat("x", size-len(header)-1) + "\n"
		text := "---\n" + header + "---\nx"
		if doc := frontmatter.Parse(text); doc.Title != want || want == "" && doc.Body != text {
			t.Errorf("%d bytes: title %q", size, doc.Title)
		}
	}
}

func TestAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		b.WriteString(strings.NewReplacer("I", string(rune('0'+i)), "J", string(rune('1'+i))).
			Replace("aJ: &aJ [*aI, *aI, *aI, *aI, *aI, *aI, *aI, *aI, *aI]\n"))
	}
	b.WriteString("tags: *a9\ntitle: calm\n---\nbody")
	want := document("body", frontmatter.Fields{Title: "calm"})
	if diff := cmp.Diff(want, frontmatter.Parse(b.String())); diff != "" {
		t.Errorf("aliases were followed (-want +got):\n%s", diff)
	}
}

func TestDeepNesting(t *testing.T) {
	for _, open := range []string{"[", "{a: ", "- ", "? "} {
		for _, depth := range []int{100, 9_000, 60_000 / len(open)} {
			header := "title: calm\ndeep: " + strings.Repeat(open, depth)
			switch open {
			case "[":
				header += strings.Repeat("]", min(depth, 5_000))
			case "{a: ":
				header += strings.Repeat("}", depth)
			}
			text := "---\n" + header + "\n---\nbody"
			if doc := frontmatter.Parse(text); doc.Title == "calm" != (doc.Body == "body") || doc.Title == "" && doc.Body != text {
				t.Errorf("%d times %q: title %q, body of %d bytes", depth, open, doc.Title, len(doc.Body))
			}
			if set, err := frontmatter.Set(text, frontmatter.Fields{Title: "new"}); err == nil && len(set) > 4<<20 {
				t.Errorf("%d times %q is written in %d bytes", depth, open, len(set))
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "# T\n", "---\ntitle: a\ntags: [b, c]\ndate: 2024-05-08\n---\n# x\n", "---\n&a [*a]\n---\n", "---\n? {a: b}\n: c\n---\n",
		"---\na: !!binary x\n<<: {b: 1}\n---\n", "---\nn: 0x7fffffffffffffffff\n---\n", "\xff---\n", "---\n---\n", "---\n# a\n\n# b\n---\nx", "---\n# a\nnull # b\n# c\n---\n",
		"---\na: &x [*x]\n<<: *x\n---\n", "\ufeff---\nn: .inf\n---", "---\nsession_id: 0012\nversion: 1.10\n...\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc := frontmatter.Parse(text)
		if !utf8.ValidString(doc.Body) || len(doc.Body) > 3*len(text) {
			t.Errorf("body is not valid UTF-8 or grew: %d of %d bytes", len(doc.Body), len(text))
		}
		if doc.BadDate && !doc.When().IsZero() {
			t.Errorf("bad date %v", doc.When())
		}
		wire := frontmatter.WireMetadata(doc.Metadata, doc.Tags, doc.When())
		if _, err := json.Marshal(wire); err != nil {
			t.Errorf("metadata cannot be sent: %v", err)
		}
		for _, tag := range doc.Tags {
			if tag == "" || strings.Contains(tag, ",") {
				t.Errorf("tag %q", tag)
			}
		}
		if doc.Body == text && cmp.Equal(doc.Fields, frontmatter.Fields{}) || !utf8.ValidString(text) {
			return
		}
		// What was read can be written and read again, whatever else the front matter contains.
		set, err := frontmatter.Set(text, doc.Fields)
		if err != nil {
			return // an alias without its anchor, or too long
		}
		again := frontmatter.Parse(set)
		doc.BadDate, again.BadDate = false, false // a date that was no scalar may be gone
		if diff := cmp.Diff(normal(doc), normal(again)); diff != "" {
			t.Errorf("%q became %q (-read +read again):\n%s", text, set, diff)
		}
	})
}

// normal returns a document as Set preserves it: Created has milliseconds.
func normal(d frontmatter.Document) frontmatter.Document {
	if !d.Created.IsZero() {
		d.Created = d.Created.UTC().Truncate(time.Millisecond)
	}
	return d
}
