package lifecycle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"evalctl/daemon"
	"evalctl/daemon/reader"
	"evalctl/internal/llm"
)

// faults are what a daemon may do wrong, by the family of questions that is about it.
var faults = map[string]func(*proxy){
	"deletion":    func(p *proxy) { p.before = p.keepDeleted },
	"isolation":   func(p *proxy) { p.before = p.mixBrains },
	"durability":  func(p *proxy) { p.forget() },
	"freshness":   func(p *proxy) { p.before, p.answered = p.keepFirst, p.preferOldest },
	"abstention":  func(p *proxy) { p.answered = invent },
	"provenance":  func(p *proxy) { p.answered = loseSources },
	"operations":  func(p *proxy) { p.before = lackOperations },
	"no fault":    func(*proxy) {},
	"event leaks": func(p *proxy) { p.answered = leakInEvent },
}

// playDaemon serves the reference daemon at an address, with its documents in a folder, behind a
// proxy with a fault.
func playDaemon(args []string) error {
	address, home, fault := args[0], args[1], args[2]
	d, err := daemon.New(context.Background(), daemon.Config{Home: home, Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
	if err != nil {
		return err
	}
	p := &proxy{real: d.Handler(), server: httptest.NewServer(d.Handler()), words: map[string]string{}, written: map[string]bool{}, dated: map[string][]string{}}
	if f := crossings[fault]; f != nil {
		newKeeper(p, home+".kept", f)
	} else {
		faults[fault](p)
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "listening with", fault)
	return http.Serve(ln, p)
}

// proxy passes requests on to a real daemon, except for what its fault does.
type proxy struct {
	real   http.Handler
	server *httptest.Server // of the real daemon, for streams
	// before, if set, handles a request itself and returns true, or lets it pass.
	before func(w http.ResponseWriter, r *http.Request, body []byte) bool
	// answered, if set, changes the events of an answer.
	answered func(brain string, frames []frame) []frame

	mu      sync.Mutex
	words   map[string]string   // the first word of the name of each brain, by id
	written map[string]bool     // brains and paths
	dated   map[string][]string // dates and texts of documents, by brain
}

// frame is an event of an answer.
type frame struct {
	name string
	data map[string]any
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if p.before != nil && p.before(w, r, body) {
		return
	}
	brain, rest := brainOf(r)
	if p.answered == nil || rest != "ask" || bytes.Contains(body, []byte("question_date")) {
		p.real.ServeHTTP(w, r)
		return
	}
	res, err := http.Post(p.server.URL+r.URL.Path, r.Header.Get("Content-Type"), r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	stream, err := io.ReadAll(res.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	for _, f := range p.answered(brain, framesOf(string(stream))) {
		data, _ := json.Marshal(f.data)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", f.name, data)
	}
}

func framesOf(stream string) (frames []frame) {
	for text := range strings.SplitSeq(stream, "\n\n") {
		var f frame
		for line := range strings.Lines(text) {
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				f.name = strings.TrimSpace(name)
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				_ = json.Unmarshal([]byte(data), &f.data)
			}
		}
		if f.name != "" {
			frames = append(frames, f)
		}
	}
	return frames
}

// ask makes a request of the real daemon.
func (p *proxy) ask(method, path, contentType string, body []byte) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	p.real.ServeHTTP(rec, r)
	return rec
}

// brainOf returns the id of the brain of a request, and the rest of its path.
func brainOf(r *http.Request) (id, rest string) {
	path, _ := strings.CutPrefix(r.URL.Path, "/v1/brains/")
	id, rest, _ = strings.Cut(path, "/")
	return id, rest
}

// keepDeleted confirms a deletion and does nothing.
func (p *proxy) keepDeleted(w http.ResponseWriter, r *http.Request, _ []byte) bool {
	_, rest := brainOf(r)
	if r.Method != http.MethodDelete || rest != "documents" {
		return false
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// mixBrains writes to all brains whose names begin with the same word.
func (p *proxy) mixBrains(_ http.ResponseWriter, r *http.Request, body []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.URL.Path == "/v1/brains" && r.Method == http.MethodPost {
		var made struct{ Name string }
		_ = json.Unmarshal(body, &made)
		p.words[made.Name], _, _ = strings.Cut(made.Name, "-")
		return false
	}
	id, rest := brainOf(r)
	if r.Method == http.MethodGet || strings.HasSuffix(rest, "search") || strings.HasSuffix(rest, "ask") {
		return false
	}
	for other, word := range p.words {
		if other != id && word == p.words[id] && rest != "" {
			p.ask(r.Method, "/v1/brains/"+other+"/"+rest+"?"+r.URL.RawQuery, r.Header.Get("Content-Type"), body)
		}
	}
	return false
}

// forget deletes all documents when the daemon starts.
func (p *proxy) forget() {
	var brains struct{ Items []struct{ ID string } }
	_ = json.Unmarshal(p.ask(http.MethodGet, "/v1/brains", "", nil).Body.Bytes(), &brains)
	for _, b := range brains.Items {
		var docs struct{ Items []struct{ Path string } }
		list := p.ask(http.MethodGet, "/v1/brains/"+b.ID+"/documents?dir=&recursive=true&include_generated=true", "", nil)
		_ = json.Unmarshal(list.Body.Bytes(), &docs)
		for _, doc := range docs.Items {
			p.ask(http.MethodDelete, "/v1/brains/"+b.ID+"/documents?path="+url.QueryEscape(doc.Path), "", nil)
		}
	}
}

// keepFirst confirms that a document is replaced and keeps the first one.
func (p *proxy) keepFirst(w http.ResponseWriter, r *http.Request, body []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, rest := brainOf(r)
	if r.Method != http.MethodPut || rest != "documents" {
		return false
	}
	at := id + " " + r.URL.Query().Get("path")
	if p.written[at] {
		w.WriteHeader(http.StatusNoContent)
		return true
	}
	p.written[at] = true
	if rest, ok := bytes.CutPrefix(body, []byte("---\ndate: ")); ok {
		p.dated[id] = append(p.dated[id], string(rest)) // which begins with the date
	}
	return false
}

// lackOperations is a daemon without renames and sessions.
func lackOperations(w http.ResponseWriter, r *http.Request, _ []byte) bool {
	_, rest := brainOf(r)
	if rest != "documents/rename" && !strings.HasPrefix(rest, "sessions/") {
		return false
	}
	http.NotFound(w, r)
	return true
}

// preferOldest answers with the oldest of several dated documents, unless the question has a date.
func (p *proxy) preferOldest(brain string, frames []frame) []frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.dated[brain]) < 2 {
		return frames
	}
	return withAnswer(frames, slices.Min(p.dated[brain]))
}

// invent answers what the daemon does not know.
func invent(_ string, frames []frame) []frame {
	for _, f := range frames {
		if f.data["answer"] == reader.Abstention {
			return withAnswer(frames, "It was the Copenhagen one, in 1954.")
		}
	}
	return frames
}

// withAnswer returns the events of another answer, which has no citations.
func withAnswer(frames []frame, answer string) (out []frame) {
	for _, f := range frames {
		switch f.name {
		case "answer_delta", "citation":
			continue
		case "done":
			out = append(out, frame{"answer_delta", map[string]any{"delta": answer}})
			f.data["answer"] = answer
		}
		out = append(out, f)
	}
	return out
}

// loseSources removes from passages and citations which documents they are from.
func loseSources(_ string, frames []frame) []frame {
	strip := func(o map[string]any) {
		for _, key := range []string{"path", "document_id", "title"} {
			delete(o, key)
		}
	}
	for _, f := range frames {
		if f.name == "citation" {
			strip(f.data)
		}
		list, _ := f.data["chunks"].([]any)
		for _, c := range list {
			strip(c.(map[string]any))
		}
	}
	return frames
}

// leakInEvent sends the code 4711 in an event that no client knows.
func leakInEvent(_ string, frames []frame) []frame {
	return append([]frame{{"debug", map[string]any{"cache": []string{"the code was 4711"}}}}, frames...)
}
