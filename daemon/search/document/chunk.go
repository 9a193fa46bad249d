package document

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/daemon/frontmatter"
	"evalctl/internal/prose"
)

const (
	// defaultChunkSize is about 250 words: long enough for one thought and short enough for only
	// one.
	defaultChunkSize = 1600
	// MinChunkSize keeps a piece (half a chunk) larger than any code point.
	MinChunkSize = 64
	// MaxChunkSize is about as much of a text as models read.
	MaxChunkSize = 8000
)

// Chunk is a passage of a document, the unit that is ranked and returned.
type Chunk struct {
	Ordinal  int // position among the chunks of the document, from 0
	Start    int // byte offset of Text in the document's Text
	Text     string
	Headings string // "Trip > Day 2"; "" outside any heading
}

// ChunkID identifies a chunk by its document's path and its ordinal.
func ChunkID(path string, ordinal int) string {
	return path + "#" + strconv.Itoa(ordinal)
}

// ChunkSize returns the limit of a chunk for a configured size, in bytes of UTF-8: 1600 for 0, and
// at least MinChunkSize.
func ChunkSize(size int) int {
	return max(cmp.Or(size, defaultChunkSize), MinChunkSize)
}

// letterSize returns how many bytes most letters of a text take, so that a chunk has as many
// letters in any script.
func letterSize(text string) int {
	letters := max(1, utf8.RuneCountInString(text))
	return max(1, (len(text)+letters/2)/letters)
}

// Split cuts the text of doc into chunks, in order, of at most ChunkSize(size) bytes times the
// bytes that its letters take, and at most MaxChunkSize. Chunks do not overlap, do not begin or end
// with white space, and leave out only white space. A document of white space has no chunks.
//
// In Markdown, a heading begins a new chunk. Within a section, passages are packed into a chunk
// until the next one does not fit. A passage is the largest unit of at most half a chunk: a
// paragraph or fenced code block, else a line, a sentence, a word, and finally a piece of a word.
// So every chunk of a section except its last is at least half full.
func Split(doc *Document, size int) []Chunk {
	size = ChunkSize(size)
	size = max(size, min(size*letterSize(doc.Text), MaxChunkSize))
	parts := []section{{end: len(doc.Text)}}
	if frontmatter.IsMarkdown(doc.Path) {
		parts = sections(doc.Text)
	}
	var chunks []Chunk
	for _, part := range parts {
		start := part.start
		for _, end := range packs(doc.Text, part, size) {
			chunks = appendChunk(chunks, doc, start, end, part.headings)
			start = end
		}
	}
	return chunks
}

func appendChunk(chunks []Chunk, doc *Document, start, end int, headings string) []Chunk {
	text := strings.TrimLeftFunc(doc.Text[start:end], unicode.IsSpace)
	start = end - len(text)
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	if text == "" {
		return chunks
	}
	return append(chunks, Chunk{Ordinal: len(chunks), Start: start, Text: text, Headings: headings})
}

// packs returns the ends of the chunks of a section, including the white space around them.
func packs(text string, part section, size int) []int {
	if part.end-part.start <= size {
		return []int{part.end}
	}
	var ends []int
	start, last := part.start, part.start
	for _, end := range pieces(nil, text, part.start, part.end, size/2, units) {
		if end-start > size {
			ends = append(ends, last)
			start = last
		}
		last = end
	}
	return append(ends, last)
}

// units are the kinds of passage, from the largest to the smallest. Each function returns the
// offset after the first passage of its kind in s, at least 1.
var units = []func(s string) int{blockEnd, firstLine, sentenceEnd, wordEnd}

// pieces appends the ends of the largest units of text[start:end] that have at most limit bytes. It
// splits a unit that is too large into units of the next kind.
func pieces(ends []int, text string, start, end, limit int, units []func(string) int) []int {
	for start < end {
		stop := start + limit
		if len(units) > 0 {
			stop = start + units[0](text[start:end])
		} else {
			for stop < end && !utf8.RuneStart(text[stop]) {
				stop--
			}
		}
		stop = min(stop, end)
		if stop-start <= limit {
			ends = append(ends, stop)
		} else {
			ends = pieces(ends, text, start, stop, limit, units[1:])
		}
		start = stop
	}
	return ends
}

// blockEnd ends a paragraph or fenced code block after the blank lines that follow it.
func blockEnd(s string) int {
	var fence prose.Fence
	blank := false
	for start, end := 0, 0; start < len(s); start = end {
		end = lineEnd(s, start)
		line := s[start:end]
		isBlank := strings.TrimSpace(line) == ""
		fenced := fence.Inside(line)
		if blank && !isBlank {
			return start
		}
		blank = isBlank && !fenced
	}
	return len(s)
}

func firstLine(s string) int { return lineEnd(s, 0) }

// sentenceEnd ends a sentence after a full stop, question mark or exclamation mark, any closing
// quotes and brackets, and the white space that follows. East Asian marks need no white space.
func sentenceEnd(s string) int {
	ended, wide, space := false, false, false
	for i, r := range s {
		switch {
		case strings.ContainsRune("。！？", r):
			ended, wide, space = true, true, false
		case strings.ContainsRune(".!?", r):
			ended, wide, space = true, false, false
		case unicode.IsSpace(r):
			space = true
		case ended && !space && strings.ContainsRune(prose.Closers, r):
		case ended && (space || wide):
			return i
		default:
			ended, space = false, false
		}
	}
	return len(s)
}

// wordEnd ends a word after the white space that follows it.
func wordEnd(s string) int {
	space := false
	for i, r := range s {
		if unicode.IsSpace(r) {
			space = true
		} else if space {
			return i
		}
	}
	return len(s)
}
