package dataset

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"evalctl/internal/filetest"
)

// questionLines writes a dataset of questions with these JSON members after id and question.
func questionLines(t *testing.T, members ...string) string {
	var b strings.Builder
	for i, m := range members {
		fmt.Fprintf(&b, `{"id":"q%d","question":"question %d"%s}`+"\n", i+1, i+1, m)
	}
	return filetest.Write(t, filepath.Join(t.TempDir(), "q.jsonl"), b.String())
}

func corpusLines(t *testing.T, lines ...string) Corpus {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.jsonl")
	c, err := LoadCorpus(filetest.Write(t, path, strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOpenRejectsBrains(t *testing.T) {
	tag := BrainNaming{Default: "eval", Tag: "conv"}
	for _, c := range []struct {
		name    string
		naming  BrainNaming
		members []string
		want    []string
	}{
		{"no id", BrainNaming{}, []string{"", `,"brain":"Not An Id"`},
			[]string{`:2: question "q2": "brain" "Not An Id" must have 1 to 64 characters of a-z, 0-9 and -`}},
		{"too long", BrainNaming{}, []string{`,"brain":"` + strings.Repeat("x", 65) + `"`},
			[]string{`:1: question "q1": "brain"`}},
		{"not a string", BrainNaming{}, []string{`,"brain":7`},
			[]string{`:1: field "brain" must be a string`}},
		{"no tag", tag, []string{`,"tags":["conv:a"]`, `,"tags":["convert:a","x"]`, ""}, []string{
			`:2: question "q2" has 0 tags that begin with conv: and needs exactly 1`,
			`:3: question "q3" has 0 tags`}},
		{"two tags", tag, []string{`,"tags":["conv:a","conv:b"]`},
			[]string{`:1: question "q1" has 2 tags that begin with conv:`}},
		{"empty slug", tag, []string{`,"tags":["conv:"]`, `,"tags":["conv:--"]`},
			[]string{`:1: question "q1": the tag conv: does not yield a brain id`,
				`:2: question "q2": the tag conv:-- does not yield a brain id`}},
		{"brain and tag", tag, []string{`,"tags":["conv:a"],"brain":"a"`},
			[]string{`:1: question "q1" has a "brain", which --brain-tag takes from the tags`}},
		{"two tags with one slug", tag, []string{`,"tags":["conv:A b"]`, `,"tags":["conv:a-b"]`},
			[]string{`:2: question "q2": the tags conv:a-b here and conv:A b on line 1 yield the same brain a-b`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := questionLines(t, c.members...)
			_, err := Open(file, Options{Naming: c.naming, Check: accept})
			if err == nil || strings.Count(err.Error(), "\n")+1 != len(c.want) {
				t.Fatalf("got %v", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), file+w) {
					t.Errorf("got %v, want %s", err, w)
				}
			}
		})
	}
}

// split returns the paths of the documents of each brain, and the brains without their documents.
func split(brains []Brain) (docs map[string][]string, rest []Brain) {
	docs = map[string][]string{}
	for _, b := range brains {
		for _, d := range b.Docs {
			docs[b.Name] = append(docs[b.Name], d.Path)
		}
		b.Docs = nil
		rest = append(rest, b)
	}
	return docs, rest
}

func TestBrains(t *testing.T) {
	line := func(path, brain string) string {
		if brain != "" {
			brain = `,"brain":"` + brain + `"`
		}
		return `{"path":"` + path + `","text":"x"` + brain + `}`
	}
	for _, c := range []struct {
		name    string
		naming  BrainNaming
		limit   int
		members []string
		corpus  []string
		docs    map[string][]string
		brains  []Brain
		result  string
	}{
		{"one brain", BrainNaming{Default: "eval"}, 0, []string{"", ""},
			[]string{line("a.md", ""), line("b.md", "")},
			map[string][]string{"eval": {"a.md", "b.md"}},
			[]Brain{{Name: "eval", Questions: 2}}, "eval"},
		{"named on lines, one path in two brains", BrainNaming{Default: "eval"}, 0,
			[]string{`,"brain":"b"`, "", `,"brain":"b"`},
			[]string{line("n.md", "b"), line("n.md", ""), line("a.md", "b")},
			map[string][]string{"eval": {"n.md"}, "b": {"a.md", "n.md"}},
			[]Brain{{Name: "b", Questions: 2},
				{Name: "eval", Questions: 1}}, "eval"},
		{"the default's own name", BrainNaming{Default: "eval"}, 0,
			[]string{`,"brain":"eval"`, ""}, []string{line("n.md", "")},
			map[string][]string{"eval": {"n.md"}},
			[]Brain{{Name: "eval", Questions: 2}}, "eval"},
		{"tags", BrainNaming{Default: "eval", Tag: "conv"}, 0,
			[]string{`,"tags":["x","conv:conv 26"]`, `,"tags":["conv:Z"]`},
			[]string{line("l/conv 26/1.md", ""), line("Z/Z/2.md", ""), line("Z", "")},
			map[string][]string{"conv-26": {"l/conv 26/1.md"}, "z": {"Z", "Z/Z/2.md"}},
			[]Brain{{Name: "conv-26", Questions: 1},
				{Name: "z", Questions: 1}}, "*"},
		{"a limit leaves brains out", BrainNaming{Default: "eval"}, 2,
			[]string{`,"brain":"b"`, `,"brain":"b"`, `,"brain":"c"`},
			[]string{line("n.md", "b"), line("n.md", "c")},
			map[string][]string{"b": {"n.md"}},
			[]Brain{{Name: "b", Questions: 2}}, "b"},
		{"no corpus", BrainNaming{Default: "eval"}, 0,
			[]string{`,"brain":"b"`, `,"brain":"c"`}, nil, map[string][]string{},
			[]Brain{{Name: "b", Questions: 1},
				{Name: "c", Questions: 1}}, "*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Open(questionLines(t, c.members...),
				Options{Naming: c.naming, Selection: Selection{Limit: c.limit}, Check: accept})
			if err != nil {
				t.Fatal(err)
			}
			var corpus *Corpus
			if c.corpus != nil {
				corpus = new(corpusLines(t, c.corpus...))
			}
			brains, err := d.Brains(corpus)
			if err != nil {
				t.Fatal(err)
			}
			docs, rest := split(brains)
			diff := cmp.Diff(c.docs, docs, cmpopts.EquateEmpty()) + cmp.Diff(c.brains, rest)
			if diff != "" {
				t.Error(diff)
			}
			if got := BrainName(brains, "eval"); got != c.result {
				t.Errorf("the brain of the result is %q, want %q", got, c.result)
			}
		})
	}
}

func TestBrainsRejects(t *testing.T) {
	tag := BrainNaming{Default: "eval", Tag: "conv"}
	for _, c := range []struct {
		name    string
		naming  BrainNaming
		members []string
		corpus  []string
		want    []string
	}{
		{"a brain without documents", BrainNaming{Default: "eval"},
			[]string{`,"brain":"b"`, `,"brain":"c"`, `,"brain":"c"`},
			[]string{`{"path":"n.md","text":"x","brain":"b"}`}, []string{
				"q.jsonl:2: questions are asked in brain c, for which "}},
		{"documents without a question", BrainNaming{Default: "eval"}, []string{`,"brain":"b"`},
			[]string{`{"path":"n.md","text":"x","brain":"b"}`, `{"path":"m.md","text":"x"}`,
				`{"path":"o.md","text":"x","brain":"o"}`}, []string{
				`c.jsonl:2: document "m.md" belongs to brain eval, in which no question is asked`,
				`c.jsonl:3: document "o.md" belongs to brain o,`}},
		{"a tag without documents", tag, []string{`,"tags":["conv:a"]`, `,"tags":["conv:b"]`},
			[]string{`{"path":"a/n.md","text":"x"}`}, []string{
				"q.jsonl:2: questions are asked in brain b, for which ",
				"none has a folder b in its path"}},
		{"documents of no tag", tag, []string{`,"tags":["conv:a"]`},
			[]string{`{"path":"a/n.md","text":"x"}`, `{"path":"ab/n.md","text":"x"}`,
				`{"path":"n/a.md","text":"x"}`}, []string{
				`c.jsonl:2: document "ab/n.md" belongs to no brain`,
				`c.jsonl:3: document "n/a.md" belongs to no brain`}},
		{"documents of two tags", tag, []string{`,"tags":["conv:a"]`, `,"tags":["conv:b"]`},
			[]string{`{"path":"a/n.md","text":"x"}`, `{"path":"a/b/n.md","text":"x"}`,
				`{"path":"b/n.md","text":"x"}`}, []string{
				`c.jsonl:2: document "a/b/n.md" has two brains in its path, a and b`}},
		{"brain and tag", tag, []string{`,"tags":["conv:a"]`},
			[]string{`{"path":"a/m.md","text":"x"}`, `{"path":"a/n.md","text":"x","brain":"a"}`},
			[]string{
				`c.jsonl:2: document "a/n.md" has a "brain", which --brain-tag takes from the path`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Open(questionLines(t, c.members...), Options{Naming: c.naming, Check: accept})
			if err != nil {
				t.Fatal(err)
			}
			_, err = d.Brains(new(corpusLines(t, c.corpus...)))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("got %v, want %s", err, w)
				}
			}
		})
	}
}

// TestBrainsOfAFolder checks that errors name files without a line, and at most ten of them.
func TestBrainsOfAFolder(t *testing.T) {
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "a/n.md"), "x")
	for i := range 13 {
		filetest.Write(t, filepath.Join(dir, fmt.Sprintf("lost/%02d.md", i)), "x")
	}
	c, err := LoadCorpus(dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open(questionLines(t, `,"tags":["conv:a"]`), Options{Naming: BrainNaming{Tag: "conv"}, Check: accept})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Brains(&c)
	lines := strings.Split(fmt.Sprint(err), "\n")
	first := filepath.Join(dir, "lost/00.md") + `: document "lost/00.md" belongs to no brain`
	if len(lines) != 11 || lines[10] != "and 3 more bad lines" || !strings.HasPrefix(lines[0], first) {
		t.Errorf("got %q", lines)
	}
}

// TestAssignment checks that each document is in exactly one brain, each question is counted once,
// and brains are in order of their names.
func TestAssignment(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching(`[a-d]{1,2}`)
		names := rapid.SliceOfNDistinct(name, 1, 5, rapid.ID).Draw(rt, "names")
		d := Dataset{
			naming: BrainNaming{Default: "eval", Tag: "t"}, brains: map[string]*brainQuestions{},
		}
		c := Corpus{}
		questions := rapid.IntRange(len(names), 20).Draw(rt, "questions")
		for i := range questions {
			tags := []string{"t:" + names[i%len(names)]}
			q := Question{ID: fmt.Sprint(i), Question: "q", Line: i + 1, Tags: tags}
			if err := d.assign(q); err != nil {
				rt.Fatal(err)
			}
			d.addToBrain(q)
		}
		want := map[string][]string{}
		for i := range rapid.IntRange(len(names), 40).Draw(rt, "documents") {
			name := names[i%len(names)]
			p := fmt.Sprintf("%s/x/%03d.md", name, i)
			if rapid.Bool().Draw(rt, "deep") {
				p = fmt.Sprintf("x/%s/%03d.md", name, i)
			}
			c.Docs = append(c.Docs, Doc{Path: p})
			want[name] = append(want[name], p)
		}
		brains, err := d.Brains(&c)
		if err != nil {
			rt.Fatal(err)
		}
		docs, rest := split(brains)
		if diff := cmp.Diff(want, docs); diff != "" {
			rt.Fatal(diff)
		}
		sum := 0
		for _, b := range rest {
			sum += b.Questions
		}
		byName := func(a, b Brain) int { return strings.Compare(a.Name, b.Name) }
		if sum != questions || !slices.IsSortedFunc(rest, byName) {
			rt.Fatalf("got %+v of %d questions", rest, questions)
		}
	})
}

func TestSlug(t *testing.T) {
	for in, want := range map[string]string{
		"conv-26": "conv-26", "Conv 26": "conv-26", "--a__B--": "a-b", "É1": "1", "": "", "é": "",
	} {
		if got := Slug(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := Slug(rapid.String().Draw(rt, "text"))
		if s != "" && len(s) <= 64 && checkBrain(s) != nil || Slug(s) != s {
			rt.Fatalf("%q", s)
		}
	})
}
