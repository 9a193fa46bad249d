//go:build unix

package scripts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// stubCommand is the first argument of a test binary that is a daemon, the SDK the second.
const stubCommand = "stub-daemon"

// runStub runs a daemon and ends the process, if the arguments of the process say so.
func runStub() {
	if len(os.Args) < 3 || os.Args[1] != stubCommand {
		return
	}
	if err := serveStub(os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// stub is a memory service whose use of models is that of one of three real daemons. Its SDK says
// which; everything else is as small as it can be.
type stub struct {
	sdk string
	// provider and anthropic are the base URLs of providers that the daemon knows by itself.
	provider, anthropic string

	mu     sync.Mutex
	brains map[string]map[string]string // texts by path
}

func serveStub(sdk string, args []string) error {
	s := &stub{sdk: sdk, brains: map[string]map[string]string{}}
	f := flag.NewFlagSet(sdk, flag.ContinueOnError)
	addr := f.String("addr", "", "")
	f.StringVar(&s.provider, "provider", "", "")
	f.StringVar(&s.anthropic, "anthropic", "", "")
	if err := f.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: *addr, Handler: s}
	go func() { <-ctx.Done(); _ = server.Close() }()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var in struct {
		BrainID         string `json:"brain_id"`
		Query, Question string
	}
	_ = json.Unmarshal(body, &in)
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/healthz":
		reply(w, map[string]any{"ok": true})
		return
	case len(parts) < 2 || parts[0] != "v1" || parts[1] != "brains":
		http.NotFound(w, r)
		return
	case len(parts) == 2 && r.Method == http.MethodPost:
		s.mu.Lock()
		s.brains[in.BrainID] = map[string]string{}
		s.mu.Unlock()
		w.WriteHeader(http.StatusCreated)
		reply(w, map[string]any{"id": in.BrainID})
		return
	case len(parts) == 2:
		http.NotFound(w, r) // it does not list its brains
		return
	}
	s.mu.Lock()
	docs, ok := s.brains[parts[2]]
	s.mu.Unlock()
	switch {
	case !ok:
		http.NotFound(w, r)
	case len(parts) == 3 && r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	case len(parts) == 4 && parts[3] == "documents" && r.Method == http.MethodPut:
		s.embed(string(body))
		s.mu.Lock()
		docs[r.URL.Query().Get("path")] = string(body)
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case len(parts) == 4 && parts[3] == "search":
		chunks, mode := s.retrieve(docs, in.Query)
		reply(w, map[string]any{"chunks": chunks, "trace": map[string]any{"effectiveMode": mode}})
	case len(parts) == 4 && parts[3] == "ask":
		s.ask(w, docs, in.Question)
	default:
		http.NotFound(w, r)
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

var words = regexp.MustCompile(`\w+`)

// retrieve returns the texts with the most words of a query, and the mode that ran.
func (s *stub) retrieve(docs map[string]string, query string) (chunks []map[string]any, mode string) {
	mode = "bm25"
	if s.embed(query) || s.sdk == "py" { // which has an embedder of its own
		mode = "hybrid"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, text := range docs {
		n := 0
		have := words.FindAllString(strings.ToLower(text), -1)
		for _, word := range words.FindAllString(strings.ToLower(query), -1) {
			if slices.Contains(have, word) {
				n++
			}
		}
		chunks = append(chunks, map[string]any{"chunkId": path, "documentId": path, "path": path, "text": text, "score": n})
	}
	slices.SortFunc(chunks, func(a, b map[string]any) int {
		return 10_000*(b["score"].(int)-a["score"].(int)) + strings.Compare(a["path"].(string), b["path"].(string))
	})
	return chunks[:min(len(chunks), 5)], mode
}

func (s *stub) ask(w http.ResponseWriter, docs map[string]string, question string) {
	chunks, mode := s.retrieve(docs, question)
	answer := s.generate(question + "\n" + fmt.Sprint(chunks[0]["text"]))
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string, data any) {
		b, _ := json.Marshal(data)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, b)
	}
	send("retrieve", map[string]any{"chunks": chunks, "topK": len(chunks), "mode": mode})
	send("answer_delta", map[string]any{"delta": answer})
	send("done", map[string]any{"ok": true})
}

// generate returns the answer of the model that the daemon prefers, or the best text without one.
func (s *stub) generate(prompt string) string {
	messages := []map[string]string{{"role": "user", "content": prompt}}
	key, base := os.Getenv("OPENAI_API_KEY"), os.Getenv("OPENAI_BASE_URL")
	var out struct {
		Choices []struct{ Message struct{ Content string } }
		Content []struct{ Text string }
	}
	switch anthropic := os.Getenv("ANTHROPIC_API_KEY"); {
	case s.sdk == "ts" && anthropic != "":
		at := s.anthropic
		if given := os.Getenv("ANTHROPIC_BASE_URL"); given != "" {
			at = given
		}
		if post(at+"/v1/messages", "X-Api-Key", anthropic, map[string]any{"model": "claude-sonnet-4-5", "messages": messages}, &out) &&
			len(out.Content) > 0 {
			return out.Content[0].Text
		}
	case key == "":
		return prompt
	case s.sdk == "ts":
		post(base+"/v1/chat/completions", "Authorization", "Bearer "+key, map[string]any{"model": "gpt-4o-mini", "messages": messages}, &out)
	default:
		post(base+"/chat/completions", "Authorization", "Bearer "+key, map[string]any{"messages": messages}, &out)
	}
	if len(out.Choices) == 0 {
		return "The model failed."
	}
	return out.Choices[0].Message.Content
}

// embed reports whether a provider embeds a text. A failure is ignored.
func (s *stub) embed(text string) bool {
	key := os.Getenv("OPENAI_API_KEY")
	if key == "" {
		return false
	}
	body := map[string]any{"model": "text-embedding-3-small", "input": []string{text}}
	switch s.sdk {
	case "ts":
		return post(os.Getenv("OPENAI_BASE_URL")+"/v1/embeddings", "Authorization", "Bearer "+key, body, nil)
	case "go":
		delete(body, "model")
		return post(s.provider+"/embeddings", "Authorization", "Bearer "+key, body, nil)
	}
	return false
}

// post sends a request and reports whether it succeeded.
func post(url, header, value string, body, out any) bool {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return false
	}
	req.Header.Set(header, value)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, res.Body)
		return false
	}
	return out == nil || json.NewDecoder(res.Body).Decode(out) == nil
}
