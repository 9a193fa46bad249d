package document

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/daemon/frontmatter"
)

// show writes chunks as "heading path|text".
func show(chunks []Chunk) []string {
	var out []string
	for _, c := range chunks {
		out = append(out, c.Headings+"|"+c.Text)
	}
	return out
}

func TestSplit(t *testing.T) {
	sixty := strings.Repeat("word ", 12)
	tests := []struct {
		name, path, text string
		size             int
		want             []string
	}{
		{"blank", "a.md", " \n\n\t", 0, nil},
		{"headings", "a.md", "intro\n# Trip\n\n## Day 1\nsun\n## Day 2\nrain\n# End\n", 0,
			[]string{"|intro", "Trip > Day 1|# Trip\n\n## Day 1\nsun", "Trip > Day 2|## Day 2\nrain", "End|# End"}},
		{"deeper headings end with their parent", "a.md", "# A\na\n### B\nb\n## C\nc\n", 0,
			[]string{"A|# A\na", "A > B|### B\nb", "A > C|## C\nc"}},
		{"code", "a.md", "# A\n```sh\n# not a heading\n```\n~~~\n```\n# nor this\n~~~\nend", 0,
			[]string{"A|# A\n```sh\n# not a heading\n```\n~~~\n```\n# nor this\n~~~\nend"}},
		{"not headings", "a.md", "#tag\n####### seven\n    # code\n", 0, []string{"|#tag\n####### seven\n    # code"}},
		{"no structure in text files", "a.txt", "x\n# y\nz", 0, []string{"|x\n# y\nz"}},
		{"paragraphs are packed", "a.md", "one one one one.\n\ntwo two two two.\n\nthree three three three.\n\nfour four four.", 64,
			[]string{"|one one one one.\n\ntwo two two two.\n\nthree three three three.", "|four four four."}},
		{"sentences", "a.txt", "This is the first one here. \"Is it?\" Yes (it is.) So it goes on and on. The end is near now.", 64,
			[]string{"|This is the first one here. \"Is it?\" Yes (it is.)", "|So it goes on and on. The end is near now."}},
		{"words", "a.txt", sixty + sixty, 64, []string{"|" + strings.TrimSpace(sixty), "|" + strings.TrimSpace(sixty)}},
		{"a word without end", "a.txt", strings.Repeat("é", 80), 64, []string{"|" + strings.Repeat("é", 64), "|" + strings.Repeat("é", 16)}},
		{"wide sentence marks", "a.txt", strings.Repeat(strings.Repeat("雨", 8)+"。", 9), 64,
			[]string{"|" + strings.Repeat(strings.Repeat("雨", 8)+"。", 7), "|" + strings.Repeat(strings.Repeat("雨", 8)+"。", 2)}},
		{"code stays whole", "a.md", "one one one one one one.\n\ntwo two two two two two.\n\n```\nx\n\ny = 12345\n```", 64,
			[]string{"|one one one one one one.\n\ntwo two two two two two.", "|```\nx\n\ny = 12345\n```"}},
		{"code longer than a chunk breaks at lines", "a.md", "```\n" + strings.Repeat("x = 1234567890123\n", 5) + "```", 64,
			[]string{"|```\nx = 1234567890123\nx = 1234567890123\nx = 1234567890123", "|x = 1234567890123\nx = 1234567890123\n```"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc := Document{Path: tt.path, Text: tt.text}
			if diff := cmp.Diff(tt.want, show(Split(&doc, tt.size))); diff != "" {
				t.Errorf("chunks differ (-want +got):\n%s", diff)
			}
			checkChunks(t, doc, max(tt.size, MinChunkSize))
		})
	}
}

// A closing quotation mark or bracket stays with its sentence.
func TestSplitBeforeNoCloser(t *testing.T) {
	for _, sentence := range []string{"「行く。」と言った。", "『行く！』と言った。", "（行く。）と言った。", "【行く？】と言った。", "{Go.} He went. "} {
		doc := Document{Path: "a.txt", Text: strings.Repeat(sentence, 60)}
		chunks := Split(&doc, MinChunkSize)
		if len(chunks) < 2 {
			t.Errorf("%s: %d chunks", sentence, len(chunks))
		}
		for _, c := range chunks {
			if strings.IndexAny(c.Text, "」』）】}") == 0 {
				t.Errorf("a chunk is %q", c.Text)
			}
		}
	}
}

func TestHeadingPathIsBounded(t *testing.T) {
	var text strings.Builder
	for i := range 6 {
		fmt.Fprintf(&text, "%s %s\nx\n", strings.Repeat("#", i+1), strings.Repeat("long ", 100))
	}
	for _, c := range Split(&Document{Path: "a.md", Text: text.String()}, 0) {
		if n := utf8.RuneCountInString(c.Headings); n > maxHeadingPath {
			t.Errorf("chunk %d: heading path of %d code points", c.Ordinal, n)
		}
	}
}

// errorer is the common part of a test, a fuzz target and a property check.
type errorer interface {
	Errorf(format string, args ...any)
}

// checkChunks checks what split promises for every document.
func checkChunks(t errorer, doc Document, size int) {
	limit := max(size, min(size*letterSize(doc.Text), MaxChunkSize))
	end := 0
	for i, c := range Split(&doc, size) {
		if id := ChunkID(doc.Path, c.Ordinal); c.Ordinal != i || id != fmt.Sprintf("%s#%d", doc.Path, i) {
			t.Errorf("chunk %d has ordinal %d and id %q", i, c.Ordinal, id)
		}
		if c.Start < end || doc.Text[c.Start:c.Start+len(c.Text)] != c.Text {
			t.Errorf("chunk %d is not text[%d:%d], or overlaps one that ends at %d", i, c.Start, c.Start+len(c.Text), end)
			return
		}
		if gap := doc.Text[end:c.Start]; strings.TrimSpace(gap) != "" {
			t.Errorf("%q before chunk %d is in no chunk", gap, i)
		}
		if len(c.Text) == 0 || len(c.Text) > limit || strings.TrimFunc(c.Text, unicode.IsSpace) != c.Text || !utf8.ValidString(c.Text) {
			t.Errorf("chunk %d is empty, over %d bytes, not trimmed or not UTF-8: %q", i, limit, c.Text)
		}
		end = c.Start + len(c.Text)
	}
	if rest := doc.Text[end:]; strings.TrimSpace(rest) != "" {
		t.Errorf("%q at the end is in no chunk", rest)
	}
}

func TestSplitProperties(t *testing.T) {
	pieces := []string{"word ", "Ünï ", "長い文。", "End. ", "\n", "\n\n", "\r\n", "# H\n", "## Deep\n", "```\n", "~~~~\n", "   ", strings.Repeat("x", 70)}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "text"), "")
		path := rapid.SampledFrom([]string{"a.md", "a.txt"}).Draw(t, "path")
		size := rapid.IntRange(64, 300).Draw(t, "size")
		doc := Document{Path: path, Text: text}
		checkChunks(t, doc, size)
		checkFilled(t, doc, size)
	})
}

// checkFilled checks that all chunks of a section except its last are at least half full, counting
// the white space around them.
func checkFilled(t errorer, doc Document, size int) {
	chunks := Split(&doc, size)
	for i := 0; i+1 < len(chunks); i++ {
		next := chunks[i+1]
		startsSection := frontmatter.IsMarkdown(doc.Path) && strings.HasPrefix(next.Text, "#")
		before := 0
		if i > 0 {
			before = chunks[i-1].Start + len(chunks[i-1].Text)
		}
		if filled := next.Start - before; !startsSection && filled*2 < size {
			t.Errorf("chunk %d %q takes only %d of %d bytes", i, chunks[i].Text, filled, size)
		}
	}
}

// The limits decide which chunks and terms stored indexes have.
func TestLimits(t *testing.T) {
	got := []int{maxTitle, maxField, maxHeading, maxHeadingPath, MinChunkSize, ChunkSize(0), ChunkSize(1)}
	if want := []int{512, 1000, 100, 256, 64, 1600, 64}; !slices.Equal(got, want) {
		t.Errorf("limits are %d, chosen were %d", got, want)
	}
}
