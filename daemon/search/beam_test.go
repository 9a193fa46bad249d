package search

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/search/document"
	"evalctl/internal/sharedtest"
)

// beamTask has long conversations with an assistant, and questions about them with the ids of the
// messages that answer them. No constant was chosen on them.
var beamTask = task{name: "beam-turn", dir: beamDir, recall: .52, ndcg: .41, brainOf: func(path string) string {
	return strings.Split(path, "/")[2]
}}

// beamDir is the folder of BEAM, whose task is made in a way of its own.
const beamDir = "../beam"

type beamMessage struct {
	Role, Content string
	ID            int
	Anchor        string `json:"time_anchor"`
}

// beam reads each message as a document, in one folder for each batch.
func beam(tb testing.TB) (docs []document.Document, questions []neutralQuestion) {
	tb.Helper()
	data := sharedtest.Path(tb, "beam")
	folders, err := os.ReadDir(data)
	if err != nil {
		tb.Fatal(err)
	}
	for _, folder := range folders {
		var batches []struct{ Turns [][]beamMessage }
		readJSON(tb, filepath.Join(data, folder.Name(), "chat.json"), &batches)
		paths := map[string]string{}
		for b, batch := range batches {
			date := ""
			for _, m := range slices.Concat(batch.Turns...) {
				if at, err := time.Parse("January-02-2006", m.Anchor); err == nil {
					date = at.Format(time.DateOnly)
				}
				path := fmt.Sprintf("%s%s/batch-%02d/%04d.md", documentsFolder, folder.Name(), b, m.ID)
				text := fmt.Sprintf("---\ndate: %s\n---\n\n# %s message, %s\n\n%s\n", date, m.Role, date, m.Content)
				doc, _ := document.Parse(path, text)
				docs, paths[strconv.Itoa(m.ID)] = append(docs, doc), path
			}
		}
		var probes map[string][]struct {
			Question string
			Source   json.RawMessage `json:"source_chat_ids"`
		}
		readJSON(tb, filepath.Join(data, folder.Name(), "probing_questions", "probing_questions.json"), &probes)
		for _, ability := range slices.Sorted(maps.Keys(probes)) {
			for _, q := range probes[ability] {
				expected := map[string]bool{}
				for _, id := range messageIDs(q.Source) {
					if path, ok := paths[id]; ok {
						expected[path] = true
					}
				}
				if len(expected) > 0 {
					questions = append(questions, neutralQuestion{Question: q.Question, Expected: slices.Sorted(maps.Keys(expected))})
				}
			}
		}
	}
	return docs, questions
}

// messageIDs returns the numbers in a JSON text: ids are in a list, or in an object of lists.
func messageIDs(text []byte) []string {
	return strings.FieldsFunc(string(text), func(r rune) bool { return r < '0' || r > '9' })
}

func readJSON(tb testing.TB, file string, into any) {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
}
