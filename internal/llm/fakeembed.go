package llm

import (
	"context"
	_ "embed"
	"math"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// fakeDimensions is the length of a FakeEmbedder's vectors. With half as many, features collide so
// often that recall@10 drops by 0.02 to 0.04.
const fakeDimensions = 1024

// The weight of a word, and the weight of its character n-grams together.
const (
	plainWeight  = 1.0
	commonWeight = 0.7  // a word that is frequent in everyday English
	nameWeight   = 0.6  // the few people in a memory occur all over it
	stopWeight   = 0.05 // a function word, or a single Latin letter
	gramShare    = 0.4  // of the word's own weight

	shortestGram, longestGram = 3, 5
)

// FakeEmbedder turns texts into vectors offline and without a model. The same text always has the
// same vector. A vector has unit length and is a sum of hashed features, each on one dimension with
// a hashed sign (Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009).
// The features are the stem of each word, with irregular forms replaced by their base, and the
// word's character n-grams. A word that occurs n times counts 1+ln n. Function words count almost
// nothing; common words and names count less than others. Only spelling is compared: synonyms have
// nothing in common. The zero value is ready to use and safe for concurrent use.
type FakeEmbedder struct{}

// NewFakeEmbedder returns the offline embedder.
func NewFakeEmbedder() FakeEmbedder { return FakeEmbedder{} }

// Name changes whenever the vectors do.
func (FakeEmbedder) Name() string { return "fake/hashed-ngrams-1024-v1" }

// FusionWeight is the weight of this ranking in a fusion, where a ranking by words has weight 1. It
// only appends documents that match by spelling alone after documents that match by words. A larger
// weight helped on none of the measured retrieval tasks.
func (FakeEmbedder) FusionWeight() float64 { return 1e-5 }

// Embed fails only if ctx has ended.
func (FakeEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	known := stems{}
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		vectors[i] = fakeVector(text, known)
	}
	return vectors, nil
}

func fakeVector(text string, known stems) []float32 {
	var sums [fakeDimensions]float64
	for _, w := range embedWords(text, known) {
		addWord(&sums, w)
	}
	if sums == ([fakeDimensions]float64{}) {
		// There are no words, or their features cancel out, and the vector needs a direction.
		addFeature(&sums, featureHash('t', text), 1)
	}
	total := 0.0
	for _, x := range sums {
		total += float64(x * x) // a fused multiply-add would differ between machines
	}
	norm := math.Sqrt(total)
	vector := make([]float32, fakeDimensions)
	for i, x := range sums {
		vector[i] = float32(x / norm)
	}
	return vector
}

// embedWord is a distinct word of a text after stemming.
type embedWord struct {
	stem, spelled string
	weight        float64
	times         int
}

// embedWords returns the distinct words in order of first appearance. Sums in that order are
// reproducible; in a map's order, their last bits would vary.
func embedWords(text string, known stems) []embedWord {
	var found []embedWord
	index := map[string]int{}
	for _, token := range strings.FieldsFunc(text, separates) {
		spelled := strings.ToLower(token)
		base := spelled
		if b, ok := irregularForms()[spelled]; ok {
			base = b
		}
		stem := known.of(base)
		weight := wordWeight(spelled, base)
		if capitalised(token) {
			weight = min(weight, nameWeight)
		}
		i, ok := index[stem]
		if !ok {
			i = len(found)
			index[stem] = i
			found = append(found, embedWord{stem: stem, spelled: spelled})
		}
		found[i].times++
		found[i].weight = max(found[i].weight, weight) // in lower case anywhere: not a name
	}
	return found
}

func wordWeight(spelled, base string) float64 {
	letter := len(spelled) == 1 && unicode.IsLower(rune(spelled[0]))
	switch {
	case letter || isStopWord(spelled):
		return stopWeight
	case commonWords()[spelled] || commonWords()[base]:
		return commonWeight
	}
	return plainWeight
}

// capitalised reports whether a word is like "Anna", and not like "NASA" or "A".
func capitalised(token string) bool {
	first, size := utf8.DecodeRuneInString(token)
	second, _ := utf8.DecodeRuneInString(token[size:])
	return unicode.IsUpper(first) && unicode.IsLower(second)
}

func addWord(sums *[fakeDimensions]float64, w embedWord) {
	weight := float64(w.weight * (1 + math.Log(float64(w.times))))
	addFeature(sums, featureHash('w', w.stem), weight)
	if w.weight <= stopWeight {
		return
	}
	grams := characterGrams(w.spelled)
	each := float64(weight * gramShare / math.Sqrt(float64(len(grams))))
	for _, g := range grams {
		addFeature(sums, featureHash('g', g), each)
	}
}

// characterGrams returns the n-grams of a word, at least one. Its ends are marked, so that the
// beginning of a word differs from its middle.
func characterGrams(word string) []string {
	marked := "^" + word + "$"
	starts := make([]int, 0, len(marked)+1)
	for i := range marked {
		starts = append(starts, i)
	}
	starts = append(starts, len(marked))
	var grams []string
	for n := shortestGram; n <= longestGram; n++ {
		for i := 0; i+n < len(starts); i++ {
			grams = append(grams, marked[starts[i]:starts[i+n]])
		}
	}
	return grams
}

func addFeature(sums *[fakeDimensions]float64, hash uint64, weight float64) {
	i := hash % fakeDimensions
	if hash>>63 == 0 {
		sums[i] += weight
	} else {
		sums[i] -= weight
	}
}

// featureHash is FNV-1a followed by the finaliser of MurmurHash3, without which the last byte would
// hardly affect the upper bits. The kind separates words from n-grams of the same spelling.
func featureHash(kind byte, s string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := (uint64(offset) ^ uint64(kind)) * prime
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// commonWordList contains frequent content words and no function words.
//
//go:embed words/common.txt
var commonWordList string

// irregularList contains a base and its irregular forms on each line. A form of two bases is listed
// with the more likely one.
//
//go:embed words/irregular.txt
var irregularList string

// commonWords are frequent in everyday English on any subject, so a common word in two texts says
// little.
var commonWords = sync.OnceValue(func() map[string]bool { return wordSet(commonWordList) })

// irregularForms maps a form that no stemmer reduces to its base.
var irregularForms = sync.OnceValue(func() map[string]string {
	bases := map[string]string{}
	for line := range strings.Lines(irregularList) {
		forms := strings.Fields(line)
		for _, form := range forms[1:] {
			bases[form] = forms[0]
		}
	}
	return bases
})
