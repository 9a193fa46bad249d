package starter_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/harness/dataset"
	"evalctl/harness/starter"
	"evalctl/internal/filetest"
	"evalctl/internal/redact"
	"evalctl/internal/visible"
	"evalctl/scorer"
)

// words are what the documents of the tests consist of. Some are alike on purpose.
var words = []string{"the", "boat", "Rye", "Ottoline", "Farrow", "Farrows", "148", "1489", "21", "KX-4821", "2021-04-17", "red", "old.", "It", "ships!", "naïve", "Straße", "小李", "`x`", "|", "- ", "\n", "\n\n", "# ", "x1", "1.5", "saw", "keeps"}

// convert stands for the converter: its page is the file without its first line.
func convert(_ context.Context, _ string, data []byte) (markdown, why string, err error) {
	first, rest, _ := strings.Cut(string(data), "\n")
	if first == "broken" {
		return "", "it is broken", nil
	}
	return rest, "", nil
}

// read writes a project about documents and reads its questions and documents. It is nil if there is
// nothing to ask.
func read(t *rapid.T, from, dir string) ([]dataset.Question, dataset.Corpus) {
	if _, err := starter.Write(context.Background(), starter.Options{Dir: dir, From: from, Convert: convert, Size: 50, Facts: 2, Seed: rapid.Uint64().Draw(t, "seed")}); err != nil {
		if !strings.Contains(err.Error(), "no sentence of") && !strings.Contains(err.Error(), "no gap has one answer") && !strings.Contains(err.Error(), "has no document") {
			t.Fatal(err)
		}
		return nil, dataset.Corpus{}
	}
	path := filepath.Join(dir, "questions.jsonl")
	spec := dataset.Spec{Path: path, Corpus: dataset.CorpusFor(path)}
	in, err := dataset.Validate(spec, "exact", 5)
	if err != nil {
		t.Fatal(err)
	}
	var questions []dataset.Question
	for q, err := range in.Dataset.Questions() {
		if err != nil {
			t.Fatal(err)
		}
		questions = append(questions, q)
	}
	corpus, err := dataset.LoadCorpus(dataset.CorpusFor(path))
	if err != nil {
		t.Fatal(err)
	}
	return questions, corpus
}

// TestGaps: whatever the documents are, the answer of a gap occurs once in all of them, in the document
// that is gold, the gold sentence is there, and the question does not have the answer. A planted code
// is in no document and in one question.
func TestGaps(t *testing.T) {
	dir, run := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		root := filepath.Join(dir, fmt.Sprint(run))
		from := filepath.Join(root, "from")
		if err := os.MkdirAll(from, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a.md", "b.txt", "c.md"} {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 60).Draw(t, name), " ")
			filetest.Write(t, filepath.Join(from, name), text)
		}
		questions, corpus := read(t, from, filepath.Join(root, "project"))
		all, codes := "", map[string]bool{}
		texts := map[string]string{}
		for _, d := range corpus.Docs {
			texts[d.Path] = string(d.Data)
			all += visible.Words(string(d.Data)) + "\n"
		}
		for _, q := range questions {
			answer := visible.Words(q.ExpectedSubstrings[0])
			if len(q.Before) > 0 {
				if codes[answer] || strings.Contains(all, answer) {
					t.Fatalf("%s: the code %s is elsewhere too", q.ID, answer)
				}
				codes[answer] = true
				continue
			}
			if strings.Count(all, answer) != 1 || !strings.Contains(visible.Words(texts[q.ExpectedPaths[0]]), answer) {
				t.Fatalf("%s: %q is not once in %s: %q", q.ID, answer, q.ExpectedPaths[0], texts)
			}
			if !scorer.Quotes(texts[q.ExpectedPaths[0]], q.ExpectedEvidence[0]) || strings.Contains(visible.Words(q.Question), answer) {
				t.Fatalf("%s: %+v", q.ID, q)
			}
		}
	})
}

// TestLeftOut: texts and pages become documents, and each other file has its reason.
func TestLeftOut(t *testing.T) {
	from := filepath.Join(t.TempDir(), "from")
	for name, text := range map[string]string{
		"a.md": "The boat Ottoline has 148 berths.", "b.PDF": "%PDF\nThe boat Farrow has 271 berths.", "sub/c.html": "<p>\nRye was founded in 1489.",
		"a.txt": "x", "a.html": "<p>\nThe rendered boat has 149 berths.", "broken.pdf": "broken\n", "empty.md": " \n", "latin.txt": "caf\xe9", "d.csv": "1,2", ".hidden/e.md": "no", "f": "no",
		"old/evalctl.yaml": "", "old/questions.jsonl": "", "old/questions.corpus/a.md": "The boat Ottoline has 148 berths.",
	} {
		file := filepath.Join(from, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	linked := os.Symlink("a.md", filepath.Join(from, "link.md")) == nil // Windows may not allow it
	dir := filepath.Join(t.TempDir(), "project")
	p, err := starter.Write(t.Context(), starter.Options{Dir: dir, From: from, Convert: convert, Size: 50})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range p.LeftOut {
		got[f.Path] = f.Why
	}
	want := map[string]string{
		"a.txt": "another file has the same name without its ending", "broken.pdf": "it is broken", "empty.md": "empty", "latin.txt": "not UTF-8",
		"d.csv": "neither a text (.md, .markdown, .txt) nor HTML or PDF", "f": "neither a text (.md, .markdown, .txt) nor HTML or PDF",
		"a.html":           "another file has the same name without its ending",
		"old/evalctl.yaml": "neither a text (.md, .markdown, .txt) nor HTML or PDF", "old/questions.jsonl": "neither a text (.md, .markdown, .txt) nor HTML or PDF",
		"old/questions.corpus": "has the documents of a project: name it with --from to take them",
	}
	if linked {
		want["link.md"] = "a link or a device"
	}
	if diff := cmp.Diff(want, got); diff != "" || p.Documents != 3 {
		t.Errorf("%d documents; left out (-want +got):\n%s", p.Documents, diff)
	}
	for name, want := range map[string]string{"b.md": "The boat Farrow has 271 berths.", "sub/c.md": "Rye was founded in 1489."} {
		if data, err := os.ReadFile(filepath.Join(dir, "questions.corpus", name)); string(data) != want || err != nil {
			t.Errorf("%s has %q, %v", name, data, err)
		}
	}
}

// TestAmbiguousGaps: a sentence is not asked about if another one fits around its gap, even if that
// one occurs twice.
func TestAmbiguousGaps(t *testing.T) {
	from, dir := t.TempDir(), filepath.Join(t.TempDir(), "project")
	for name, text := range map[string]string{
		"a.md": "The primary database listens on port 5432 today.", "b.md": "- The  primary database listens on\n  port 5432 today.",
		"c.md": "The primary database listens on port 6000 today.",
		"d.md": "KX-4821 is the sign of the old boat.\n\nA red lamp is the sign of the old boat.",
		"e.md": "The primary lighthouse has all of its 148 steps today.",
	} {
		filetest.Write(t, filepath.Join(from, name), text)
	}
	if _, err := starter.Write(t.Context(), starter.Options{Dir: dir, From: from, Size: 50}); err != nil {
		t.Fatal(err)
	}
	questions, err := os.ReadFile(filepath.Join(dir, "questions.jsonl"))
	if n := strings.Count(string(questions), `"gap-`); err != nil || n != 1 || !strings.Contains(string(questions), "its ___ steps") {
		t.Errorf("%v, %d gaps:\n%s", err, n, questions)
	}
}

// TestLongDocument: the time for a document grows with its length, so that a book does not take hours.
func TestLongDocument(t *testing.T) {
	from, dir := t.TempDir(), filepath.Join(t.TempDir(), "project")
	var book strings.Builder
	for i := range 20_000 {
		name := strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(i))
		fmt.Fprintf(&book, "The cart of N%s brought bricks to the yard of %[1]s at last.\n\n", name)
	}
	filetest.Write(t, filepath.Join(from, "book.md"), book.String())
	if _, err := starter.Write(t.Context(), starter.Options{Dir: dir, From: from, Size: 50}); err != nil {
		t.Fatal(err)
	}
}

// ending is a context that ends when it is asked for the nth time.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterrupted: wherever Write is interrupted, nothing of the project is left, and the last
// sentence of a long document is not waited for.
func TestInterrupted(t *testing.T) {
	from := t.TempDir()
	filetest.Write(t, filepath.Join(from, "a.md"), "The keeper Ottoline counts all the ships.\n\nIts mate Farrow sleeps all day.")
	filetest.Write(t, filepath.Join(from, "b.md"), "The quay of stone has 148 steps.\n\nIn 1489 the sea took all boats.")
	const most = 100
	for checks := range most {
		dir := filepath.Join(t.TempDir(), "project")
		_, err := starter.Write(&ending{t.Context(), checks}, starter.Options{Dir: dir, From: from, Size: 50, Facts: 1})
		if err == nil {
			if checks < 2*4 {
				t.Errorf("only %d checks for 4 sentences", checks)
			}
			return
		}
		found, _ := filepath.Glob(filepath.Join(dir, "[a-z]*"))
		if !errors.Is(err, context.Canceled) || len(found) > 0 {
			t.Fatalf("after %d checks: %v, %q", checks, err, found)
		}
	}
	t.Errorf("not done after %d checks", most)
}

// TestSecrets: a sentence that may have a secret is not asked about, and the first one is named.
func TestSecrets(t *testing.T) {
	from, dir := t.TempDir(), filepath.Join(t.TempDir(), "project")
	text := "# Access\n\nThe old boat has 148\nsteps, as every one of us knows.\n\n" +
		"- The admin logs in\n  with the password: hunter2xyz\vat the gate.\n" +
		"- Start the copy of the data with DB_PASSWORD = short1 by hand.\n- The password of the gate is Rye4711 since the last storm.\n" +
		"- We pay with pk_4eC39HqLyjWDarjtT1zdp7dc since the spring.\n- The word Trelawney3 opens the shed of the old boat.\n" +
		"- The password of the backup host: Rye4712 and nothing else.\n- The token for the guest profile is Rye4713 until spring.\n" +
		"- Das Passwort der Pforte im Norden ist Rye4719 bis zum Mai.\n- Le mot de passe de la porte est Rye4720 depuis hier.\n- Pwd: Rye4714 for the door in the north.\n- The passwords of both doors: Rye4715 and nothing else.\n" +
		"- Use one of these tokens: Rye4716 and nothing else.\n- The passwords of all boats are Rye4717 and Rye4718 now.\n"
	filetest.Write(t, filepath.Join(from, "a.txt"), text)
	p, err := starter.Write(t.Context(), starter.Options{Dir: dir, From: from, Size: 50, Secrets: []redact.Secret{{Name: "KEY", Value: "Trelawney3"}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := (starter.Secrets{Sentences: 13, Path: "questions.corpus/a.md", Line: 6}); p.Secrets != want {
		t.Errorf("got %+v, want %+v", p.Secrets, want)
	}
	if questions := filetest.Read(t, filepath.Join(dir, "questions.jsonl")); strings.Count(string(questions), `"gap-`) != 1 {
		t.Errorf("secrets are asked about:\n%s", questions)
	}
}

// TestOnlySecrets: the error for sentences that may all have a secret says so.
func TestOnlySecrets(t *testing.T) {
	from := t.TempDir()
	filetest.Write(t, filepath.Join(from, "a.md"), "The password of the gate is Rye4711 since the last storm.")
	_, err := starter.Write(t.Context(), starter.Options{Dir: filepath.Join(t.TempDir(), "project"), From: from, Size: 50})
	if err == nil || !strings.Contains(err.Error(), "may have a password or a key (1 sentence") {
		t.Error(err)
	}
}

// TestAlike: the error for sentences that are alike says so.
func TestAlike(t *testing.T) {
	from := t.TempDir()
	filetest.Write(t, filepath.Join(from, "a.md"), "The visitor Komusari1 came with 345 marbles.\n\nThe visitor Komusari2 came with 346 marbles.")
	_, err := starter.Write(t.Context(), starter.Options{Dir: filepath.Join(t.TempDir(), "project"), From: from, Size: 50})
	if err == nil || !strings.Contains(err.Error(), "other sentences are alike around it (2 sentences") {
		t.Error(err)
	}
}

// TestWholeGaps: a gap never leaves a part of a number, a code or an emphasis beside it.
func TestWholeGaps(t *testing.T) {
	from, dir := t.TempDir(), filepath.Join(t.TempDir(), "project")
	text := `The rate of the old boat rose from .409 to much more than before.
The sign of the old lighthouse is U+2693 in every one of its books.
The keeper of the old lighthouse is *Farrow* as every one of us knows.
The old quay has 371-372 stones, as every one of us knows.
The old pier has 471–472 stones, as every one of us knows.
- The server of the old quay is 10.20.30.40, as every one of us knows.
- The telephone of the old quay is +49 170 5550199 for every one of us.
- [ ] Call for the surveyor before the sea comes back.
- [x] Pay for the surveyor before the sea comes back to us.

The old tower has 148 steps, as every one of us knows.

In 2021 Ottoline Farrow built the shed of the old boat.

In 2021 the keeper was away, as every one of us knows.
`
	filetest.Write(t, filepath.Join(from, "a.md"), text)
	if _, err := starter.Write(t.Context(), starter.Options{Dir: dir, From: from, Size: 50}); err != nil {
		t.Fatal(err)
	}
	questions, err := os.ReadFile(filepath.Join(dir, "questions.jsonl"))
	whole := strings.Contains(string(questions), "tower has ___ steps") && strings.Contains(string(questions), "quay is ___ ,") &&
		strings.Contains(string(questions), "In 2021 ___ built")
	if n := strings.Count(string(questions), `"gap-`); err != nil || n != 3 || !whole {
		t.Errorf("%v, %d gaps:\n%s", err, n, questions)
	}
}
