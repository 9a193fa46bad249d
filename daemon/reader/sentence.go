package reader

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a half-open byte range of a text.
type span struct{ start, end int }

// sentences splits a text at line breaks and sentence ends, without the surrounding
// white space. Numbers in brackets such as [1] after the final punctuation belong to the
// sentence before them.
func sentences(text string) []span {
	var list []span
	start := 0
	for i := 0; i < len(text); {
		end := -1
		switch c := text[i]; {
		case c == '\n' || c == '\r':
			end = i
		case strings.IndexByte(".!?", c) >= 0:
			end = sentenceEnd(text, start, i)
		}
		if end < 0 {
			i++
			continue
		}
		list = appendTrimmed(list, text, start, end)
		start = max(end, i+1)
		i = start
	}
	return appendTrimmed(list, text, start, len(text))
}

// sentenceEnd returns where the sentence with punctuation at i ends, or -1 if that does not end it.
func sentenceEnd(text string, start, i int) int {
	end := i + 1
	for end < len(text) && strings.IndexByte(".!?\"')]", text[end]) >= 0 {
		end++
	}
	if rest := skipMarkers(text, end); rest > end {
		return rest
	}
	next, _ := utf8.DecodeRuneInString(text[end:])
	if end < len(text) && !unicode.IsSpace(next) {
		return -1
	}
	if text[i] == '.' && (isAbbreviation(text[start:i]) || startsLower(text[end:])) {
		return -1
	}
	return end
}

// skipMarkers returns the end of the markers at position i, or i without any.
func skipMarkers(text string, i int) int {
	for {
		rest := strings.TrimLeft(text[i:], " ")
		_, size, _ := leadingMarker(rest)
		if size == 0 {
			return i
		}
		i = len(text) - len(rest) + size
	}
}

func startsLower(text string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(text, " "))
	return unicode.IsLower(first)
}

// isAbbreviation reports whether the last word of text, which is followed by a full
// stop, is an initial or a common abbreviation.
func isAbbreviation(text string) bool {
	word := text[strings.LastIndexAny(text, " \t(")+1:]
	if utf8.RuneCountInString(word) == 1 {
		r, _ := utf8.DecodeRuneInString(word)
		return unicode.IsUpper(r)
	}
	switch strings.ToLower(word) {
	case "dr", "mr", "mrs", "ms", "prof", "st", "vs", "e.g", "i.e", "approx", "no":
		return true
	}
	return false
}

func appendTrimmed(list []span, text string, start, end int) []span {
	s := text[start:end]
	trimmed := strings.TrimSpace(s)
	if trimmed == "" {
		return list
	}
	start += strings.Index(s, trimmed)
	return append(list, span{start, start + len(trimmed)})
}

// words returns the parts of a text that are separated by white space.
func words(text string) []span {
	var list []span
	start := -1
	for i, r := range text {
		switch space := unicode.IsSpace(r); {
		case space && start >= 0:
			list = append(list, span{start, i})
			start = -1
		case !space && start < 0:
			start = i
		}
	}
	if start >= 0 {
		list = append(list, span{start, len(text)})
	}
	return list
}
