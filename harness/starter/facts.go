package starter

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/visible"
)

// planter makes facts that no document and no model can know, with random names and codes.
type planter struct {
	random *rand.Rand
	taken  string          // the documents, folded
	used   map[string]bool // names and codes
}

// plant returns o.Facts questions for each kind of planted fact. The documents with the facts are
// written before each question and stay. They do not interfere, because no name is used twice.
func (c *corpus) plant(o Options) []dataset.Question {
	p := &planter{random: rand.New(rand.NewPCG(o.Seed, 2)), taken: c.text, used: map[string]bool{}}
	var questions []dataset.Question
	for _, kind := range []struct {
		name string
		make func(*planter, string) dataset.Question
	}{
		{"fact", (*planter).fact}, {"updated", (*planter).updated}, {"deleted", (*planter).deleted},
		{"contradicted", (*planter).contradicted}, {"two-documents", (*planter).twoDocuments}, {"far-apart", (*planter).farApart},
	} {
		for i := range o.Facts {
			id := fmt.Sprintf("%s-%02d", kind.name, i+1)
			q := kind.make(p, "planted/"+id)
			q.ID, q.Tags = id, []string{kind.name}
			q.ReferenceAnswer = q.ExpectedSubstrings[0]
			questions = append(questions, q)
		}
	}
	return questions
}

// fact plants one fact in one document.
func (p *planter) fact(path string) dataset.Question {
	store, code := p.name(), p.code()
	text := accessCode(store, code)
	return dataset.Question{
		Question: fmt.Sprintf("What is the access code of the store %s?", store),
		Before:   []dataset.Operation{put(path, "", text)}, ExpectedSubstrings: []string{code}, ExpectedEvidence: []string{text},
	}
}

func accessCode(store, code string) string {
	return fmt.Sprintf("The store %s has the access code %s.", store, code)
}

// updated replaces a document. Its old text must not come back.
func (p *planter) updated(path string) dataset.Question {
	store, old, code := p.name(), p.code(), p.code()
	text := accessCode(store, code)
	return dataset.Question{
		Question:           fmt.Sprintf("What is the access code of the store %s?", store),
		Before:             []dataset.Operation{put(path, "", accessCode(store, old)), put(path, "", text)},
		ExpectedSubstrings: []string{code}, ExpectedEvidence: []string{text}, Forbidden: []string{old},
	}
}

// deleted writes two documents about a store and deletes one.
func (p *planter) deleted(path string) dataset.Question {
	store, gone, code := p.name(), p.code(), p.code()
	text := fmt.Sprintf("The store %s has the spare code %s.", store, code)
	return dataset.Question{
		Question: fmt.Sprintf("Which codes does the store %s have?", store),
		Before: []dataset.Operation{
			put(path+"-main", "", accessCode(store, gone)), put(path+"-spare", "", text),
			{Op: dataset.OpDelete, Path: path + "-main.md"},
		},
		ExpectedSubstrings: []string{code}, ExpectedEvidence: []string{text}, Forbidden: []string{gone},
	}
}

// contradicted writes two documents that disagree. The newer one is right.
func (p *planter) contradicted(path string) dataset.Question {
	store, old, code := p.name(), p.code(), p.code()
	text := fmt.Sprintf("Since June, the store %s has the access code %s.", store, code)
	return dataset.Question{
		Question: fmt.Sprintf("What is the access code of the store %s now?", store),
		Before: []dataset.Operation{
			put(path+"-june", "2025-06-02", text),
			put(path+"-march", "2025-03-03", fmt.Sprintf("Since March, the store %s has the access code %s.", store, old)),
		},
		ExpectedSubstrings: []string{code}, ExpectedEvidence: []string{text}, MustCite: []string{path + "-june.md"},
	}
}

// twoDocuments asks for an answer that needs one fact from each of two documents.
func (p *planter) twoDocuments(path string) dataset.Question {
	store, depot, code := p.name(), p.name(), p.code()
	texts := []string{fmt.Sprintf("The store %s belongs to the depot %s.", store, depot), fmt.Sprintf("The depot %s has the access code %s.", depot, code)}
	return dataset.Question{
		Question: fmt.Sprintf("What is the access code of the depot that the store %s belongs to?", store),
		Before:   []dataset.Operation{put(path+"-store", "", texts[0]), put(path+"-depot", "", texts[1])}, ExpectedSubstrings: []string{code}, ExpectedEvidence: texts,
	}
}

// distance is the number of entries between two facts that are far apart, about 10,000 characters.
const distance = 150

// farApart asks for an answer that needs two facts from the ends of one long document.
func (p *planter) farApart(path string) dataset.Question {
	courier, parcel, dock := p.name(), p.code(), p.code()
	texts := []string{fmt.Sprintf("The courier %s carries the parcel %s.", courier, parcel), fmt.Sprintf("The parcel %s goes to the dock %s.", parcel, dock)}
	entries := []string{texts[0]}
	for i := range distance {
		entries = append(entries, fmt.Sprintf("Entry %d: nothing to report from the watch of %s.", i+1, p.name()))
	}
	return dataset.Question{
		Question: fmt.Sprintf("To which dock does the parcel of the courier %s go?", courier),
		Before:   []dataset.Operation{put(path, "", strings.Join(append(entries, texts[1]), "\n\n"))}, ExpectedSubstrings: []string{dock}, ExpectedEvidence: texts,
	}
}

func put(path, date, text string) dataset.Operation {
	return dataset.Operation{Op: dataset.OpPut, Path: path + ".md", Date: date, Text: text}
}

// name returns a pronounceable name.
func (p *planter) name() string {
	return p.fresh(func() string {
		var b strings.Builder
		for range 3 {
			b.WriteByte("bdfgklmnprstvz"[p.random.IntN(14)])
			b.WriteByte("aeiou"[p.random.IntN(5)])
		}
		b.WriteByte("lnrst"[p.random.IntN(5)])
		return strings.ToUpper(b.String()[:1]) + b.String()[1:]
	})
}

// code returns two letters and six digits.
func (p *planter) code() string {
	return p.fresh(func() string {
		letter := func() byte { return "ABCDEFGHJKLMNPQRSTUVWXYZ"[p.random.IntN(24)] }
		return fmt.Sprintf("%c%c-%06d", letter(), letter(), p.random.IntN(1_000_000))
	})
}

// fresh draws until a text is new.
func (p *planter) fresh(draw func() string) string {
	for {
		if s := draw(); !p.used[s] && !strings.Contains(p.taken, visible.Words(s)) {
			p.used[s] = true
			return s
		}
	}
}
