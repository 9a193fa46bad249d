package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/daemon/language"
	"evalctl/daemon/protocol"
	"evalctl/daemon/search/document"
	"evalctl/daemon/search/plaintest"
	"evalctl/harness/compare"
)

// plainDaemon is a daemon that ranks by a plain BM25: whole documents, their text alone, with the
// words of the reference daemon. Documents of a later day than question_date are not found there
// either.
type plainDaemon struct {
	k1, b float64

	mu     sync.Mutex
	brains map[string]*plainBrain
}

type plainBrain struct {
	docs  []plaintest.Document
	dates map[string]string // of the documents, as time.DateOnly
	bm25  *plaintest.BM25   // nil until it is searched
}

// startPlain starts the daemon, which ends with the test.
func startPlain(t *testing.T, k1, b float64) *httptest.Server {
	t.Helper()
	d := &plainDaemon{k1: k1, b: b, brains: map[string]*plainBrain{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { reply(w, protocol.Health{OK: true}) })
	mux.HandleFunc("POST /v1/brains", d.create)
	mux.HandleFunc("POST /v1/brains/{brain}/documents/batch-ops", d.write)
	mux.HandleFunc("POST /v1/brains/{brain}/search", d.search)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func reply(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func (d *plainDaemon) create(w http.ResponseWriter, r *http.Request) {
	var body struct{ Name string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.brains[body.Name] = &plainBrain{dates: map[string]string{}}
	w.WriteHeader(http.StatusCreated)
	reply(w, map[string]string{"id": body.Name})
}

func (d *plainDaemon) write(w http.ResponseWriter, r *http.Request) {
	var batch protocol.Batch
	if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.brains[r.PathValue("brain")]
	b.bm25 = nil
	for _, op := range batch.Ops {
		doc, ok := document.Parse(op.Path, string(op.Content))
		if !ok {
			http.Error(w, op.Path+" is not indexed", http.StatusBadRequest)
			return
		}
		_, text, _ := strings.Cut(doc.Text, "\n") // without the title
		b.docs = append(b.docs, plaintest.Document{Path: op.Path, Text: text})
		b.dates[op.Path] = doc.Date.Format(time.DateOnly)
	}
	reply(w, protocol.BatchResult{Committed: len(batch.Ops)})
}

func (d *plainDaemon) search(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Query        string
		TopK         int    `json:"top_k"`
		QuestionDate string `json:"question_date"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	type chunk struct {
		Path  string  `json:"path"`
		Score float64 `json:"score"`
	}
	chunks := []chunk{}
	bm25, dates := d.brain(r.PathValue("brain"))
	day := q.QuestionDate[:min(len(time.DateOnly), len(q.QuestionDate))]
	for i, path := range bm25.Rank(q.Query, d.k1, d.b, q.TopK, func(path string) bool { return day == "" || dates[path] <= day }) {
		chunks = append(chunks, chunk{path, 1 / float64(i+1)})
	}
	reply(w, map[string]any{"chunks": chunks, "mode": protocol.ModeBM25, "effective_mode": protocol.ModeBM25})
}

func (d *plainDaemon) brain(name string) (*plaintest.BM25, map[string]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.brains[name]
	if b.bm25 == nil {
		b.bm25 = plaintest.New(b.docs, language.English.Terms)
	}
	return b.bm25, b.dates
}

// plainSettings are common values of k1 and b. That with the better nDCG@10 is compared with.
var plainSettings = [][2]float64{{.9, .4}, {1.2, .75}}

// againstPlain is the comparison of a task with the better setting.
type againstPlain struct {
	setting string
	measure map[string]compare.MeasureDifference
}

// compareWithPlain measures a plain BM25 as a daemon like any other, and compares file, the result
// of the reference daemon, with it by evalctl compare. The questions count as independent: the five
// conversations of LoCoMo are too few clusters for an interval.
func (q qualityTask) compareWithPlain(t *testing.T, file string) againstPlain {
	t.Helper()
	best := againstPlain{}
	for _, s := range plainSettings {
		_, plain := q.run(t, "bm25", "--endpoint", startPlain(t, s[0], s[1]).URL)
		out, err := exec.CommandContext(t.Context(), "evalctl", "compare", file, "--baseline", plain, "--cluster", "none", "--format", "json").Output()
		if err != nil {
			t.Fatalf("%s: compare: %v\n%s", q.name, err, out)
		}
		var c compare.Comparison
		if err := json.Unmarshal(out, &c); err != nil {
			t.Fatal(err)
		}
		found := againstPlain{fmt.Sprintf("%g/%g", s[0], s[1]), map[string]compare.MeasureDifference{}}
		for _, m := range c.Pairs[0].Measures {
			found.measure[m.Name] = m
		}
		if best.setting == "" || found.measure["ndcg"].ReferenceMean > best.measure["ndcg"].ReferenceMean {
			best = found
		}
	}
	return best
}

// row returns a row of the table of differences.
func (a againstPlain) row(task string) string {
	cells := fmt.Sprintf("| %s | %s |", task, a.setting)
	for _, name := range plainMeasures {
		m := a.measure[name]
		cells += fmt.Sprintf(" %s | %s | %s [%s, %s] |", share(m.RunMean), share(m.ReferenceMean),
			signed(m.Difference), signed(m.Interval.Low), signed(m.Interval.High))
	}
	return cells + "\n"
}

// plainMeasures are the measures of the table, at the run's top-k.
var plainMeasures = []string{"recall", "ndcg"}

func share(f float64) string { return strings.TrimPrefix(fmt.Sprintf("%.3f", f), "0") }

func signed(f float64) string {
	sign := "+"
	if f < 0 {
		sign = "−"
	}
	return sign + share(math.Abs(f))
}
