package work

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"

	"evalctl/harness/dataset"
)

// A synthetic corpus has a Zipf distribution of words, like natural text.
const (
	vocabulary   = 60_000
	wordExponent = 1.1
	leastWords   = 40
	mostWords    = 240
)

// Documents returns a document by its number from 0. A brain contains the first documents, so a
// brain of 10,000 includes a brain of 1,000.
type Documents func(i int) dataset.Doc

// Synthetic returns any number of documents that depend only on the seed.
func Synthetic(seed uint64) Documents {
	return func(i int) dataset.Doc { return synthetic(seed, i) }
}

// Corpus returns the documents of a corpus.
func Corpus(c *dataset.Corpus) Documents {
	return func(i int) dataset.Doc { return c.Docs[i] }
}

// Take returns the first n documents.
func (d Documents) Take(n int) []dataset.Doc {
	docs := make([]dataset.Doc, n)
	for i := range docs {
		docs[i] = d(i)
	}
	return docs
}

// synthetic returns the i-th document.
func synthetic(seed uint64, i int) dataset.Doc {
	random := numbered(seed, uint64(i))
	return dataset.Doc{
		Path: fmt.Sprintf("bench/%03d/%06d.md", i/1000, i),
		Data: []byte(text(random, fmt.Sprintf("Note %d", i), leastWords+random.IntN(mostWords-leastWords))),
	}
}

// text returns a Markdown text with this many words.
func text(random *rand.Rand, title string, words int) string {
	draw := rand.NewZipf(random, wordExponent, 2.7, vocabulary-1)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", title)
	for i := range words {
		b.WriteString(word(draw.Uint64()))
		switch {
		case i%60 == 59:
			b.WriteString(".\n\n")
		case i%12 == 11:
			b.WriteString(". ")
		default:
			b.WriteByte(' ')
		}
	}
	b.WriteString("\n")
	return b.String()
}

// word returns the word with this rank. Frequent words are short, and all words are distinct.
func word(rank uint64) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	n := rank
	var b []byte
	for {
		b = append(b, consonants[n%14], vowels[n/14%5])
		if n /= 70; n == 0 {
			break
		}
		n--
	}
	return string(append(b, consonants[rank%13]))
}

// wordsOf returns the words of a text.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// queryFrom returns a query of consecutive words of a text, empty if it has none.
func queryFrom(random *rand.Rand, words []string) string {
	if len(words) == 0 {
		return ""
	}
	n := min(2+random.IntN(4), len(words))
	at := random.IntN(len(words) - n + 1)
	return strings.Join(words[at:at+n], " ")
}
