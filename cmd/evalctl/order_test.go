package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

// TestRanksFollowResponse: in every mode, the reported ranks are the positions of the chunks in the
// response. The shorter notes rank first and have the last names. The fake reranker scores all of
// them the same.
func TestRanksFollowResponse(t *testing.T) {
	t.Parallel()
	const documents = 40
	dir := t.TempDir()
	var paths []string
	var corpus, question strings.Builder
	for i := range documents {
		path := fmt.Sprintf("note-%02d.md", documents-i)
		paths = append(paths, path)
		text := "The badger digs" + strings.Repeat(" earth", i)
		line, err := json.Marshal(map[string]string{"path": path, "title": "note", "text": text})
		if err != nil {
			t.Fatal(err)
		}
		corpus.Write(append(line, '\n'))
	}
	q := map[string]any{"id": "q", "question": "What digs the badger?", "expected_paths": paths}
	if err := json.NewEncoder(&question).Encode(q); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"corpus.jsonl": corpus.String(), "q.jsonl": question.String()} {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	for _, mode := range []string{"bm25", "semantic", "hybrid", "hybrid-rerank"} {
		got := reportedOrder(t, dir, mode)
		if len(got.Retrieved) != documents {
			t.Fatalf("%s: %d chunks", mode, len(got.Retrieved))
		}
		ranks, ties := map[string]int{}, 0
		for _, g := range got.Retrieval.Gold {
			ranks[g.Path] = g.Rank
		}
		for i, c := range got.Retrieved {
			if rank := ranks[strings.TrimPrefix(c.Path, "raw/documents/")]; rank != i+1 {
				t.Errorf("%s: chunk %d, of %s with the score %v, is reported at rank %d", mode, i+1, c.Path, c.Score, rank)
			}
			if i > 0 && got.Retrieved[i-1].Score-c.Score < 1e-12 {
				ties++
			}
		}
		if mode == "hybrid-rerank" && ties == 0 {
			t.Error("the reranker returns no equal scores")
		}
	}
}

type reported struct {
	Retrieved []struct {
		Path  string  `json:"path"`
		Score float64 `json:"score"`
	} `json:"retrieved"`
	Retrieval struct {
		Gold []struct {
			Path string `json:"path"`
			Rank int    `json:"rank"`
		} `json:"gold"`
	} `json:"retrieval"`
}

// reportedOrder runs evalctl on the one question of dir.
func reportedOrder(t *testing.T, dir, mode string) reported {
	t.Helper()
	var result struct {
		Questions []reported `json:"questions"`
	}
	runRetrieval(t, &result, mode, filepath.Join(dir, "q.jsonl"), filepath.Join(dir, "corpus.jsonl"),
		"--top-k", "50")
	if len(result.Questions) != 1 {
		t.Fatalf("%d questions", len(result.Questions))
	}
	return result.Questions[0]
}
