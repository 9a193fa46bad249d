package source

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/internal/jsonstream"
)

// benchQuery is a query of agent-memory-benchmark, which publishes many benchmarks in one layout.
type benchQuery struct {
	ID      string `json:"id"`
	Query   string `json:"query"`
	Answers []any  `json:"gold_answers"`
	GoldIDs []any  `json:"gold_ids"`
	User    any    `json:"user_id"`
	Meta    struct {
		Category string `json:"category"`
		Type     string `json:"question_type"`
		Asked    string `json:"query_timestamp"`
	} `json:"meta"`
}

// benchDocument is a document beside the queries.
type benchDocument struct {
	ID        any    `json:"id"`
	Content   string `json:"content"`
	User      any    `json:"user_id"`
	Timestamp string `json:"timestamp"`
}

// readAgentMemory reads queries of agent-memory-benchmark and the documents in documents.json or
// documents.json.gz beside them. The documents of each user form a haystack, and those without a
// user one haystack for all.
func readAgentMemory(in wholeFile) (w whole, err error) {
	var queries []benchQuery
	if err := jsonstream.Decode(in.data, 0, &queries); err != nil {
		return w, err
	}
	documents, err := benchDocuments(in)
	if err != nil {
		return w, err
	}
	haystacks, order := map[string]*Haystack{}, []string{}
	for i, d := range documents {
		user := plain(d.User)
		h := haystacks[user]
		if h == nil {
			h = &Haystack{ID: "user-" + user}
			if user == "" {
				h.ID = "all"
			}
			h.Brain = brainOf(h.ID) // a user of LongMemEval has the id of a question
			haystacks[user], order = h, append(order, user)
		}
		if strings.TrimSpace(d.Content) == "" {
			in.traps.add(trapEmptySession, plain(d.ID))
			continue
		}
		s := Session{SourceID: plain(d.ID), Title: fmt.Sprintf("Document %d", len(h.Sessions)+1), Turns: []Turn{{Role: "user", Text: d.Content}}}
		if d.Timestamp != "" {
			when, ok := isoDate(d.Timestamp)
			if !ok {
				return w, fmt.Errorf("document %d: the timestamp %.40q is not a date like 2023-05-30T23:40:00Z", i+1, d.Timestamp)
			}
			s.Date, s.When = utc(when), d.Timestamp
		}
		h.Sessions = append(h.Sessions, s)
	}
	for _, user := range order {
		h := haystacks[user]
		h.sort(in.traps)
		h.numbered(dataset.AgentMemory)
		w.haystacks = append(w.haystacks, *h)
	}
	for _, b := range queries {
		h := haystacks[plain(b.User)]
		if h == nil {
			h = haystacks[""]
		}
		if h == nil {
			return w, fmt.Errorf("query %q is of the user %q, who has no document", b.ID, plain(b.User))
		}
		q, err := b.question(h, in)
		if err != nil {
			return w, fmt.Errorf("query %q: %w", b.ID, err)
		}
		w.questions = append(w.questions, q)
	}
	return w, nil
}

// question returns the query as a question about a haystack.
func (b benchQuery) question(h *Haystack, in wholeFile) (Question, error) {
	q := Question{ID: b.ID, Text: b.Query, Haystack: h.ID, Type: noType}
	for _, t := range []string{b.Meta.Type, b.Meta.Category} {
		if t != "" {
			q.Type = t
			break
		}
	}
	if b.Meta.Asked != "" {
		when, ok := isoDate(b.Meta.Asked)
		if !ok {
			return q, fmt.Errorf("the query_timestamp %.40q is not a date like 2023-05-30T23:40:00Z", b.Meta.Asked)
		}
		q.Date = utc(when)
	}
	for _, a := range b.Answers {
		if text := strings.TrimSpace(plain(a)); text != "" && !slices.Contains(q.ExpectedSubstrings, text) {
			q.ExpectedSubstrings = append(q.ExpectedSubstrings, text)
		}
	}
	q.Answer = strings.Join(q.ExpectedSubstrings, " or ")
	q.chooseByLetter(in)
	for _, id := range b.GoldIDs {
		paths := h.paths(plain(id))
		if len(paths) == 0 {
			in.traps.add(trapGoldMissing, q.ID+": "+plain(id))
		}
		q.Gold = append(q.Gold, paths...)
	}
	q.abstainByID(b.ID, in.traps)
	return q, nil
}

// chooseByLetter makes a query with options a multiple choice. Its gold answers are the right
// option, in PersonaMem with its label and in MemBench without, and the letter alone, which is a
// substring of most answers.
func (q *Question) chooseByLetter(in wholeFile) {
	gold := q.ExpectedSubstrings
	for _, l := range []label{ownLabel, {"\n%c. ", 'A'}} {
		text, _, _ := strings.Cut(q.Text, l.of(0))
		options := optionsIn(q.Text, l)
		for i, option := range options {
			labelled := strings.TrimSpace(l.of(i) + option)
			if slices.Contains(gold, string(l.first+rune(i))) && (slices.Contains(gold, option) || slices.Contains(gold, labelled)) {
				q.ExpectedSubstrings = nil
				setOptions(q, text, options, i, in.order(q.ID, len(options)))
				return
			}
		}
	}
}

// benchDocuments reads the documents beside the queries.
func benchDocuments(in wholeFile) (documents []benchDocument, err error) {
	found, err := globIn(filepath.Dir(in.path), "documents.json*")
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("there must be one file documents.json or documents.json.gz beside the queries, and there are %d", len(found))
	}
	data, err := in.beside(found[0])
	if err == nil && strings.HasSuffix(found[0], ".gz") {
		data, err = gunzip(data)
	}
	if err == nil {
		err = jsonstream.Decode(data, 0, &documents)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", found[0], err)
	}
	return documents, nil
}

func gunzip(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(io.LimitReader(z, maxWhole+1))
	if len(data) > maxWhole {
		return nil, fmt.Errorf("it has more than %d bytes", maxWhole)
	}
	return data, err
}

// plain formats a JSON string or number.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
