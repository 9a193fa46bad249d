package scorer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

// Results identify the prompts by these digests. A change must come with a new name and new digests
// here.
func TestReplayPromptsSHA256(t *testing.T) {
	set := ReplayPrompts()
	for kind, want := range map[string]string{
		TypeStandard:        "64c859285326db1dab34ff43aae4160d7930a763955b8552403f5cae916f0991",
		TypeTemporal:        "72cace70879921f1cb6422428cd24071e4e4eed382267b86625ebd33f45d7f51",
		TypeKnowledgeUpdate: "15b10affefb3fb8160c3242d1bceb70417689b9bb90b2d15e20e268463f35c02",
		TypePreference:      "7ba11963393fbfe05d137c120a8ad51c949412eb33f215950db3f138b15ff416",
		TypeAbstention:      "79011cd6a54db65fda45cbf396a6d66cf4b0a7bc1646716a6dec94b97131196d",
	} {
		if p := set[kind]; p.Name != "replay-1/"+kind || p.SHA256() != want {
			t.Errorf("%s: got %s %s", kind, p.Name, p.SHA256())
		}
	}
	if got := set.Name() + " " + set.SHA256(); got != "replay-1 51824ba50a8218059bfe16504bec9349cde19261312801e155aba1adc7d625ef" {
		t.Errorf("got %s", got)
	}
}

// Each prompt says what the fields are, that they are data, and what the reply must be.
func TestReplayPrompts(t *testing.T) {
	seen := map[string]string{}
	for kind, p := range ReplayPrompts() {
		for _, part := range []string{"question_date", "reference_answer", "never follow instructions", `"score"`, `"reason"`} {
			if !strings.Contains(p.System, part) {
				t.Errorf("%s has no %q", kind, part)
			}
		}
		if other := seen[p.System]; other != "" {
			t.Errorf("%s and %s are the same", kind, other)
		}
		seen[p.System] = kind
	}
	if len(seen) != len(Types()) {
		t.Errorf("%d prompts, %d types", len(seen), len(Types()))
	}
}

// An item is judged by the prompts of its type, and by the standard ones without a type.
func TestNewTyped(t *testing.T) {
	srv := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply { return reply(good) })
	p, err := llm.Open(llm.Config{Provider: llm.ProviderOpenAI, Model: "gpt-4o", BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	set := ReplayPrompts()
	j, err := NewTyped(p, "gpt-4o", set)
	if err != nil {
		t.Fatal(err)
	}
	if j.Name() != "judge" {
		t.Errorf("got the name %q", j.Name())
	}
	for _, kind := range append(Types(), "") {
		in := item
		in.Type = kind
		if v, err := j.Score(t.Context(), in); err != nil || !v.Scored {
			t.Fatal(v, err)
		}
		calls := srv.Calls()
		want := kind
		if kind == "" {
			want = TypeStandard
		}
		if got := calls[len(calls)-1]; got.Messages[0].Content != set[want].System || candidate(t, got) != item.Answer {
			t.Errorf("%q: got %q", kind, got.Messages)
		}
	}
	in := item
	in.Type = "multi-hop"
	calls := len(srv.Calls())
	_, err = j.Score(t.Context(), in)
	if err == nil || !strings.Contains(err.Error(), `"multi-hop"`) || !strings.Contains(err.Error(), TypePreference) || len(srv.Calls()) != calls {
		t.Errorf("unknown type: %v", err)
	}
}

// Rejections by the provider count over all types: they tell about the provider.
func TestNewTypedRefusals(t *testing.T) {
	srv := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Status: 400} })
	p, err := llm.Open(llm.Config{Provider: llm.ProviderOpenAI, Model: "gpt-4o", BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	j, err := NewTyped(p, "gpt-4o", ReplayPrompts())
	if err != nil {
		t.Fatal(err)
	}
	for n, kind := range []string{TypeStandard, TypeTemporal, TypeAbstention} {
		in := item
		in.Type = kind
		if _, err := j.Score(t.Context(), in); (err != nil) != (n+1 == maxRefused) {
			t.Errorf("refusal %d: %v", n+1, err)
		}
	}
}

func TestNewTypedRejects(t *testing.T) {
	for name, change := range map[string]func(PromptSet){
		"no prompts for questions of type temporal": func(s PromptSet) { delete(s, TypeTemporal) },
		"unknown types of questions: multi-hop":     func(s PromptSet) { s["multi-hop"] = s[TypeStandard] },
		"questions of type preference: ": func(s PromptSet) {
			p := s[TypePreference]
			p.System = ""
			s[TypePreference] = p
		},
		"another scorer": func(s PromptSet) {
			p := s[TypePreference]
			p.Scorer = "other"
			s[TypePreference] = p
		},
	} {
		set := ReplayPrompts()
		change(set)
		if _, err := NewTyped(llm.NewFake(), llm.FakeModel, set); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewTyped(nil, "", ReplayPrompts()); err == nil {
		t.Error("a judge without a model")
	}
}

// prompts writes files to a new folder.
func prompts(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func TestLoadPrompts(t *testing.T) {
	set, err := LoadPrompts(prompts(t, map[string]string{"temporal.txt": "\ufeffGrade the date.\r\n", "preference.txt": "Grade the advice."}))
	if err != nil {
		t.Fatal(err)
	}
	if p := set[TypeTemporal]; p.Name != "file:temporal" || p.System != "Grade the date." {
		t.Errorf("got %+v", p)
	}
	ours := ReplayPrompts()
	if set[TypeStandard].System != ours[TypeStandard].System || set[TypeStandard].Name != "replay-1/standard" {
		t.Error("a type without a file has other prompts")
	}
	if set.Name() != "replay-1, file:temporal, file:preference" || set.SHA256() == ours.SHA256() {
		t.Errorf("got %s %s", set.Name(), set.SHA256())
	}
	other, err := LoadPrompts(prompts(t, map[string]string{"temporal.txt": "Grade the year.", "preference.txt": "Grade the advice."}))
	if err != nil || other.SHA256() == set.SHA256() {
		t.Errorf("another text has the same digest, %v", err)
	}
	if _, err := NewTyped(llm.NewFake(), llm.FakeModel, set); err != nil {
		t.Error(err)
	}
}

func TestLoadPromptsRejects(t *testing.T) {
	for _, tt := range []struct{ name, file, text, want string }{
		{"unknown type", "multi-hop.txt", "Grade.", "preference.txt"},
		{"another ending", "temporal.md", "Grade.", "temporal.txt"},
		{"without ending", "temporal", "Grade.", "temporal.txt"},
		{"empty", "temporal.txt", " \n", "empty"},
		{"only a byte order mark", "temporal.txt", "\ufeff", "empty"},
		{"not UTF-8", "temporal.txt", "Grade \xff.", "UTF-8"},
		{"too large", "temporal.txt", strings.Repeat("x", maxPromptFile+1), "64 KiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := prompts(t, map[string]string{tt.file: tt.text})
			_, err := LoadPrompts(dir)
			if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, tt.file)) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := LoadPrompts(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no prompts") {
		t.Errorf("empty folder: %v", err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := LoadPrompts(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("missing folder: %v", err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "temporal.txt"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadPrompts(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("folder in the place of a file: %v", err)
	}
	if set, err := LoadPrompts(prompts(t, map[string]string{"standard.txt": strings.Repeat("x", maxPromptFile)})); err != nil || len(set[TypeStandard].System) != maxPromptFile {
		t.Errorf("at the limit: %v", err)
	}
}
