package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"evalctl/daemon/brain"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/store"
)

// Where a consolidation writes.
const (
	notesFolder          = "memory/global/notes/"
	summariesFolder      = "memory/global/summaries/"
	consolidationsFolder = "memory/consolidations/"
	consolidationState   = consolidationsFolder + "_state.json"
)

// holding is a document of the daemon's own.
type holding struct {
	path   string
	text   string
	doc    frontmatter.Document
	facts  []fact // of documents of facts and of notes
	sealed bool
	// written is when the document was last written.
	written time.Time
}

// holdings has the documents that a consolidation works on, each list ascending by path. It
// excludes the documents of users, and those that users have changed.
type holdings struct {
	facts     []holding
	episodes  []holding
	summaries []holding
	notes     []holding
	taken     map[string]bool // all paths in the folders, in lower case
	state     compileState
}

func readHoldings(ctx context.Context, docs documentReader) (holdings, error) {
	h := holdings{taken: map[string]bool{}}
	var err error
	read := func(folder string) (list []holding) {
		if err == nil {
			list, err = h.readFolder(ctx, docs, folder)
		}
		return list
	}
	h.facts = slices.DeleteFunc(read(factsFolder), func(d holding) bool { return !d.rewritable() })
	h.episodes = slices.DeleteFunc(read(episodesFolder), edited)
	h.summaries = slices.DeleteFunc(read(summariesFolder), edited)
	h.notes = slices.DeleteFunc(read(notesFolder), func(d holding) bool { return !d.isNote() })
	if err != nil {
		return h, err
	}
	h.state, err = readState(ctx, docs)
	return h, err
}

func edited(d holding) bool { return !d.sealed }

// readFolder reads the Markdown documents of a folder and everything below it.
func (h *holdings) readFolder(ctx context.Context, docs documentReader, folder string) ([]holding, error) {
	files, err := docs.List(ctx, strings.TrimSuffix(folder, "/"), store.ListOptions{Recursive: true})
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		for p := f.Path; p != "."; p = path.Dir(p) {
			h.taken[strings.ToLower(p)] = true
		}
	}
	files = slices.DeleteFunc(files, func(f store.FileInfo) bool { return !frontmatter.IsMarkdown(f.Path) })
	var list []holding
	err = readEach(ctx, docs, files, func(d store.Document) error {
		if !d.Exists || d.Err != nil {
			return nil // deleted in the meantime, or it cannot be read
		}
		text := d.Content
		list = append(list, holding{
			path: d.Path, text: text, doc: frontmatter.Parse(text), facts: parseFacts(text), sealed: isSealed(text), written: d.ModTime,
		})
		return nil
	})
	return list, err
}

// session returns the session that a document is about. A document without one counts as its own
// session.
func (d holding) session() string {
	if id, ok := d.doc.Metadata["session_id"].(string); ok && id != "" {
		return id
	}
	return d.path
}

// rewritable reports whether a document of facts has only lines that factsDocument writes.
func (d holding) rewritable() bool {
	if !d.sealed {
		return false
	}
	text, err := d.withFacts(d.facts)
	return err == nil && text == d.text
}

// withFacts returns the document with other facts.
func (d holding) withFacts(facts []fact) (string, error) {
	return factsDocument(d.session(), d.doc.Date, facts, actorsOf(d.doc)...)
}

// when returns the day of a fact, or the day of its document if the fact has none.
func (d holding) when(f fact) time.Time {
	if !f.Date.IsZero() {
		return f.Date
	}
	return d.doc.When()
}

// free reserves and returns an unused path in a folder, made from a title.
func (h *holdings) free(folder, kind, title string) string {
	stem := folder + brain.Slug(kind, title)
	p := stem + markdownExt
	for n := 2; h.taken[p]; n++ {
		p = fmt.Sprintf("%s-%d%s", stem, n, markdownExt)
	}
	h.taken[p] = true
	return p
}

// compileState has the results of earlier consolidations. A unit that is missing from it has never
// been read.
type compileState struct {
	// Covered has the path of the summary for each unit that was read. The path is empty for a unit
	// that was alone with its subject.
	Covered map[string]string `json:"covered"`
}

func readState(ctx context.Context, docs documentReader) (compileState, error) {
	state := compileState{Covered: map[string]string{}}
	data, err := docs.Read(ctx, consolidationState)
	if store.IsNotFound(err) {
		return state, nil
	}
	if err != nil {
		return state, err
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return state, store.Damaged(err, "%s is damaged: delete the file, and summaries are compiled again", consolidationState)
	}
	if state.Covered == nil {
		state.Covered = map[string]string{}
	}
	return state, nil
}

func (s compileState) equal(t compileState) bool { return maps.Equal(s.Covered, t.Covered) }

// unitKey identifies a unit by its document and its text.
func unitKey(path, text string) string {
	sum := sha256.Sum256([]byte(path + "\x00" + text))
	const short = 12 // bytes
	return hex.EncodeToString(sum[:short])
}
