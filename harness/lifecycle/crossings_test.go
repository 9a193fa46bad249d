package lifecycle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// crossings are faults by the tag of the questions that are about them: where one operation meets
// another, or what was made from a text, something that is gone comes back.
var crossings = map[string]func(*keeper){
	"delete-restart":        func(k *keeper) { k.deleted, k.atStart = k.save, k.restore },
	"overwrite-restart":     func(k *keeper) { k.replaced, k.atStart = k.save, k.restore },
	"delete-consolidate":    func(k *keeper) { k.deleted, k.consolidated = k.save, k.restore },
	"overwrite-consolidate": func(k *keeper) { k.replaced, k.consolidated = k.save, k.restore },
	"delete-rename":         func(k *keeper) { k.renamed = func(d storedText) { k.put(d) } },
	"overwrite-rename":      func(k *keeper) { k.renamedOnto = func(d storedText) { k.putAs(d, "raw/documents/conflict.md") } },
	"delete-append":         func(k *keeper) { k.appended = func(d storedText) { k.putAs(d, d.Path+".part.md") } },
	"overwrite-append":      func(k *keeper) { k.appended, k.rewritten = k.save, k.appendAgain },
	"delete-session":        func(k *keeper) { k.deleted, k.recalls = k.save, true },
	"overwrite-session":     func(k *keeper) { k.replaced, k.recalls = k.save, true },
	"facts":                 func(k *keeper) { k.extracted = func(d storedText) { k.putAs(d, "memory/agent/facts/copy.md") } },
	"session-facts":         func(k *keeper) { k.said = func(d storedText) { k.putAs(d, "memory/agent/facts/copy.md") } },
	"reflections": func(k *keeper) {
		k.said, k.reflected = k.save, func(d storedText) { k.putAs(d, "memory/agent/episodes/copy.md") }
	},
	"summaries": func(k *keeper) {
		k.said, k.consolidated = k.save, func(brain string) { k.putAs(k.all(brain), "memory/global/summaries/copy.md") }
	},
	"recall": func(k *keeper) { k.said, k.recalls = k.save, true },
	"listed": func(k *keeper) { k.deleted, k.lists = k.save, true },
}

// storedText is a text at a path of a brain.
type storedText struct{ Brain, Path, Text string }

// keeper is a daemon that keeps texts which it should not. Its functions are called after the real
// daemon has done what they are named for.
type keeper struct {
	proxy *proxy
	file  string // what outlives the process

	deleted, replaced, renamed, renamedOnto, appended, rewritten, extracted, said, reflected func(storedText)
	consolidated, atStart                                                                    func(brain string)
	// recalls adds what is saved to recalls, lists to lists of documents.
	recalls, lists bool

	mu   sync.Mutex
	kept []storedText
}

// newKeeper makes a proxy a daemon with a fault.
func newKeeper(p *proxy, file string, fault func(*keeper)) {
	k := &keeper{proxy: p, file: file}
	if data, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(data, &k.kept)
	}
	fault(k)
	p.before = k.serve
	if k.atStart != nil {
		k.atStart("")
	}
}

func (k *keeper) save(d storedText) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = append(k.kept, d)
	data, _ := json.Marshal(k.kept)
	_ = os.WriteFile(k.file, data, 0o600)
}

// of returns what is saved of a brain, "" for all of them.
func (k *keeper) of(brain string) (list []storedText) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range k.kept {
		if brain == "" || d.Brain == brain {
			list = append(list, d)
		}
	}
	return list
}

// all returns all texts of a brain as one.
func (k *keeper) all(brain string) storedText {
	d := storedText{Brain: brain}
	for _, one := range k.of(brain) {
		d.Text += one.Text + "\n\n"
	}
	return d
}

func (k *keeper) restore(brain string) {
	for _, d := range k.of(brain) {
		k.put(d)
	}
}

func (k *keeper) put(d storedText) { k.putAs(d, d.Path) }

func (k *keeper) putAs(d storedText, path string) {
	k.proxy.ask(http.MethodPut, "/v1/brains/"+d.Brain+"/documents?path="+url.QueryEscape(path), "application/octet-stream", []byte(d.Text))
}

// appendAgain appends to a document that was written again what was appended to it before.
func (k *keeper) appendAgain(d storedText) {
	for _, one := range k.of(d.Brain) {
		if one.Path == d.Path {
			k.proxy.ask(http.MethodPost, "/v1/brains/"+d.Brain+"/documents/append?path="+url.QueryEscape(d.Path), "application/octet-stream", []byte(one.Text))
		}
	}
}

// read returns the document at a path.
func (k *keeper) read(brain, path string) (d storedText, there bool) {
	rec := k.proxy.ask(http.MethodGet, "/v1/brains/"+brain+"/documents/read?path="+url.QueryEscape(path), "", nil)
	return storedText{brain, path, rec.Body.String()}, rec.Code == http.StatusOK
}

// serve lets the real daemon answer, and then does what the fault does.
func (k *keeper) serve(w http.ResponseWriter, r *http.Request, body []byte) bool {
	brain, rest := brainOf(r)
	path := r.URL.Query().Get("path")
	call := func(f func(storedText), d storedText, there bool) {
		if f != nil && there {
			f(d)
		}
	}
	var before, onto storedText
	var there, covers bool
	var fields struct{ From, To, Path, Content, Source string }
	_ = json.Unmarshal(body, &fields)
	switch kind := r.Method + " " + rest; {
	case kind == "PUT documents", kind == "DELETE documents":
		before, there = k.read(brain, path)
	case kind == "POST documents/rename":
		before, there = k.read(brain, fields.From)
		onto, covers = k.read(brain, fields.To)
	case strings.HasSuffix(rest, "/ask"), rest == "ask":
		return false
	}
	rec := k.proxy.ask(r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), body)
	ok := rec.Code < 300
	switch kind := r.Method + " " + rest; {
	case !ok:
	case kind == "DELETE documents":
		call(k.deleted, before, there)
	case kind == "PUT documents":
		call(k.replaced, before, there)
		call(k.rewritten, before, there)
	case kind == "POST documents/rename":
		call(k.renamed, before, there)
		call(k.renamedOnto, onto, covers)
	case kind == "POST documents/append":
		call(k.appended, storedText{brain, path, string(body)}, true)
	case kind == "POST documents":
		call(k.extracted, storedText{brain, fields.Path, fields.Content}, fields.Source != "")
	case strings.HasSuffix(kind, "/messages"):
		call(k.said, storedText{brain, rest, fields.Content}, true)
	case strings.HasSuffix(kind, "/reflect"):
		call(k.reflected, k.all(brain), true)
	case kind == "POST consolidate" && k.consolidated != nil:
		k.consolidated(brain)
	case strings.HasSuffix(kind, "/recall") && k.recalls:
		k.add(rec, "chunks", brain, func(d storedText) any {
			return map[string]any{"chunk_id": "cached", "path": "cache.md", "text": d.Text, "score": 1}
		})
	case kind == "GET documents" && k.lists:
		k.add(rec, "items", brain, func(d storedText) any { return map[string]any{"path": d.Path, "size": len(d.Text)} })
	}
	maps.Copy(w.Header(), rec.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
	return true
}

// add adds what is saved of a brain to a list of a response.
func (k *keeper) add(rec *httptest.ResponseRecorder, list, brain string, element func(storedText) any) {
	var o map[string]any
	if json.Unmarshal(rec.Body.Bytes(), &o) != nil {
		return
	}
	elements, _ := o[list].([]any)
	for _, d := range k.of(brain) {
		elements = append(elements, element(d))
	}
	o[list] = elements
	data, _ := json.Marshal(o)
	rec.Body = bytes.NewBuffer(data)
}

// deletes reports whether a document is deleted before a question and not written again.
func deletes(c *dataset.Contents, q dataset.Question) bool {
	for _, o := range q.Before {
		if c.Apply(o.In(q.Brain), o) != nil {
			return false // it is of an earlier question
		}
	}
	return len(c.Deleted(q.Brain)) > 0
}

// TestCrossings plants the fault that each question of two families is about. Every one of them
// finds it, and passes without it. A deleted document that is still listed is found by every
// question before which a document is deleted.
func TestCrossings(t *testing.T) {
	ids := map[string][]string{} // by the tag of the fault
	for q, err := range read(t, lifecycleQuestions, dataset.Options{}).Questions() {
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range q.Tags {
			if cross, ok := strings.CutPrefix(tag, "cross:"); ok {
				ids[cross] = append(ids[cross], q.ID)
				ids["no fault"] = append(ids["no fault"], q.ID)
			}
		}
		if c := dataset.NewContents(); deletes(c, q) {
			ids["listed"] = append(ids["listed"], q.ID)
		}
	}
	if n := len(ids["no fault"]); n < 60 {
		t.Errorf("only %d questions are about crossings", n)
	}
	for cross := range ids {
		if cross != "no fault" && crossings[cross] == nil {
			t.Errorf("no fault is planted for cross:%s", cross)
		}
	}
	for _, fault := range append(slices.Sorted(maps.Keys(crossings)), "no fault") {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			d := read(t, lifecycleQuestions, dataset.Options{Selection: dataset.Selection{IDs: ids[fault]}})
			found := measure(t, open(t, fault), d)
			if len(found) < 5 || len(found) != len(ids[fault]) {
				t.Fatalf("%d of %d questions", len(found), len(ids[fault]))
			}
			for id, r := range found {
				if r.Passed != (fault == "no fault") || r.Outcome != result.Scored {
					t.Errorf("%s: %s, passed %v: %s %v", id, r.Outcome, r.Passed, r.Reason, r.Error)
				}
				severe := slices.ContainsFunc(r.Leaks, func(l result.Leak) bool { return l.Origin == result.OfDeleted })
				if want := !strings.HasPrefix(fault, "overwrite") && fault != "no fault"; severe != want {
					t.Errorf("%s: something deleted came back: %v, want %v: %s", id, severe, want, r.Leaks)
				}
				if fault == "listed" && !slices.ContainsFunc(r.Leaks, func(l result.Leak) bool { return l.Place == result.InList }) {
					t.Errorf("%s: %s", id, r.Leaks)
				}
			}
			t.Log(fmt.Sprint(len(found), " questions"))
		})
	}
}
