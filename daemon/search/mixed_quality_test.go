package search

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/daemon/search/document"
	"evalctl/internal/stats"
)

// codePackages are packages of Go's library, whose functions and their comments people wrote.
var codePackages = strings.Fields("archive bufio bytes compress context database encoding errors expvar flag hash html image io log math mime net os path regexp sort strconv strings sync text time unicode")

// codeTask returns functions of Go's library without their comments as documents, and the first
// sentences of some comments, without the name, as questions for them.
func codeTask(tb testing.TB) (docs []document.Document, questions []neutralQuestion) {
	tb.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		tb.Skip("go is absent: ", err)
	}
	files := token.NewFileSet()
	for _, name := range codePackages {
		root := filepath.Join(strings.TrimSpace(string(goroot)), "src", name)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(path, "testdata") || strings.Contains(path, "vendor") || strings.Contains(path, "internal") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(files, path, source, parser.ParseComments)
			if err != nil {
				return err
			}
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok || f.Body == nil || len(f.Body.List) < 3 {
					continue
				}
				start, end := files.Position(f.Pos()).Offset, files.Position(f.End()).Offset
				doc := document.Document{
					Path: fmt.Sprintf("%s%05d.txt", documentsFolder, len(docs)), Text: string(source[start:end]),
				}
				doc.Title = "function"
				docs = append(docs, doc)
				words := strings.Fields(f.Doc.Text())
				if !f.Name.IsExported() || len(words) < 7 || words[0] != f.Name.Name {
					continue
				}
				sentence, _, _ := strings.Cut(strings.Join(words[1:], " "), ". ")
				if !strings.Contains(sentence, f.Name.Name) {
					questions = append(questions, neutralQuestion{Question: sentence, Expected: []string{doc.Path}})
				}
			}
			return nil
		})
		if err != nil {
			tb.Skip("the source of Go's library is absent: ", err)
		}
	}
	return docs, everyNth(questions, 0, 2)
}

// mixedTasks returns source code, alone and beside notes in English, and paragraphs and questions in
// five languages in one brain, the last time with turns of conversations.
func mixedTasks(tb testing.TB) (all []measuredTask) {
	add := func(name string, docs []document.Document, questions []neutralQuestion) {
		tk := task{name: name, brainOf: oneBrain}
		all = append(all, measuredTask{tk, tk.index(docs, nil), questions})
	}
	code, codeQuestions := codeTask(tb)
	add("code", code, codeQuestions)
	notes, noteQuestions := languageTasks[0].load(tb)
	add("notes-code", slices.Concat(renamed(code, "code"), notes), noteQuestions)
	var docs []document.Document
	questions := map[string][]neutralQuestion{}
	for _, tk := range languageTasks {
		of, asked := tk.load(tb)
		name := filepath.Base(tk.dir)
		docs = append(docs, renamed(of, name)...)
		for i, q := range asked {
			for j, p := range q.Expected {
				asked[i].Expected[j] = name + "/" + p
			}
		}
		questions[name] = asked
	}
	brains := (task{brainOf: oneBrain}).index(docs, nil)
	for _, tk := range languageTasks {
		name := filepath.Base(tk.dir)
		all = append(all, measuredTask{task{name: "mixed-" + name, brainOf: oneBrain}, brains, questions[name]})
	}
	turns, turnQuestions := tasks[0].load(tb)
	add("mixed-turns", slices.Concat(docs, turns), turnQuestions)
	return all
}

// BenchmarkMixedQuality reports the figures of BenchmarkQuality for mixedTasks.
func BenchmarkMixedQuality(b *testing.B) {
	for _, tk := range mixedTasks(b) {
		b.Run(tk.name, func(b *testing.B) {
			q := tk.measure(tk.brains, tk.questions)
			for b.Loop() {
			}
			b.ReportMetric(q.recall5, "R@5")
			b.ReportMetric(q.recall10, "R@10")
			b.ReportMetric(q.ndcg10, "nDCG@10")
		})
	}
}

// BenchmarkMixedLeaveOneOut prints, for each of mixedTasks, the weights of the language and of letters
// that are chosen on the others by the mean of nDCG@10, one after the other, and what they add to
// nDCG@10 of the task that was left out, with the p-value of the randomisation test.
func BenchmarkMixedLeaveOneOut(b *testing.B) {
	for b.Loop() {
		all := mixedTasks(b)
		for _, c := range []struct {
			name   string
			set    func(ix *Index, v float64)
			values []float64 // the first one switches the part off
			chosen float64
		}{
			{"language", func(ix *Index, v float64) { ix.weights.language = v }, []float64{0, .1, .2, .3, .5, 1}, defaultWeights.language},
			{"letters", func(ix *Index, v float64) { ix.letter = max(v, 1e-9) }, []float64{0, .1, .2, .4}, defaultParameters.letter},
		} {
			figures := make([][]measured, len(c.values)) // by value and task
			for i, v := range c.values {
				for _, tk := range all {
					c.set(tk.brains[""], v)
					figures[i] = append(figures[i], tk.figures())
					c.set(tk.brains[""], c.chosen)
				}
			}
			for left, tk := range all {
				best, most := 0, 0.
				for i := range c.values {
					sum := 0.
					for t := range all {
						if t != left {
							sum += mean(figures[i][t].ndcg)
						}
					}
					if sum > most {
						best, most = i, sum
					}
				}
				with, without := figures[best][left].ndcg, figures[0][left].ndcg
				differences := make([]float64, len(with))
				for i := range with {
					differences[i] = with[i] - without[i]
				}
				p, _ := stats.SignFlip(differences, 10_000, 1)
				fmt.Printf("| %s | %s | %v | %s | %.2f |\n", c.name, tk.name, c.values[best], adds(with, without), p)
			}
		}
	}
}

// renamed returns copies of documents in a folder.
func renamed(docs []document.Document, folder string) []document.Document {
	docs = slices.Clone(docs)
	for i := range docs {
		docs[i].Path = folder + "/" + docs[i].Path
	}
	return docs
}
