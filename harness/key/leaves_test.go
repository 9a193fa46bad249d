package key

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/result"
)

func wholeIdentity() result.Identity {
	return result.Identity{
		SchemaVersion: result.SchemaVersion, SDK: "go", Scorer: "judge", Brain: "eval", Scenario: result.AskBasic,
		Mode: "auto", TopK: 5, Dialect: result.Auto,
		Dataset: result.DatasetID{Path: "d.jsonl", SHA256: "aa", Selected: 3,
			Selection: &result.Selection{Tags: []string{"x"}, SHA256: "ss", Total: 9},
			Tags:      map[string]int{"a.b": 3}},
		Corpus: &result.CorpusID{Path: "c", SHA256: "bb", Documents: 2},
		Daemon: result.DaemonID{Program: "evalctl", CommandSHA256: "ee", Version: "1"},
		Reader: &result.ModelID{Provider: "openai", BaseURL: "https://h/v1", Model: "m"},
		Judge: &result.JudgeModel{Provider: "openai", Model: "j", PromptVersion: "judge-1",
			PromptSHA256: "cc"},
		Tool: result.ToolID{Version: "1", Commit: "x"},
	}
}

func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*result.Identity)
		want   []string
	}{
		{"nothing", func(*result.Identity) {}, nil},
		{"the paths of the files",
			func(id *result.Identity) { id.Dataset.Path, id.Corpus.Path = "x", "y" }, nil},
		{"the tool", func(id *result.Identity) { id.Tool = result.ToolID{Version: "2", OS: "plan9", CPUs: 64} },
			nil},
		{"the dataset", func(id *result.Identity) { id.Dataset.SHA256, id.Dataset.Selected = "zz", 2 },
			[]string{`dataset.selected was 3 and is now 2`,
				`dataset.sha256 was "aa" and is now "zz"`}},
		{"how the same questions were selected", func(id *result.Identity) {
			id.Dataset.Selection = &result.Selection{Tags: []string{"y"}, Limit: 3, SHA256: "ss", Total: 9}
		}, nil},
		{"the selected questions", func(id *result.Identity) {
			id.Dataset.Selection = &result.Selection{Grep: "x", SHA256: "tt", Total: 9, Seed: new(uint64(0))}
		}, []string{`dataset.selection.sha256 was "ss" and is now "tt"`,
			`dataset.selection.shuffle_seed was not set and is now 0`}},
		{"repeats", func(id *result.Identity) { id.Dataset.Repeats = 3 },
			[]string{`dataset.repeats was not set and is now 3`}},
		{"the mode and top-k", func(id *result.Identity) { id.Mode, id.TopK = "bm25", 10 },
			[]string{`mode was "auto" and is now "bm25"`, `top_k was 5 and is now 10`}},
		{"the command", func(id *result.Identity) { id.Daemon.CommandSHA256 = "ff" },
			[]string{`daemon.command_sha256 was "ee" and is now "ff"`}},
		{"an endpoint for a command",
			func(id *result.Identity) { id.Daemon = result.DaemonID{Endpoint: "http://h", Version: "1"} },
			[]string{
				`daemon.command_sha256 was "ee" and is now not set`,
				`daemon.endpoint was not set and is now "http://h"`,
				`daemon.program was "evalctl" and is now not set`}},
		{"the reader's endpoint", func(id *result.Identity) { id.Reader.BaseURL = "https://g/v1" },
			[]string{`reader.base_url was "https://h/v1" and is now "https://g/v1"`}},
		{"no corpus", func(id *result.Identity) { id.Corpus = nil },
			[]string{`corpus.documents was 2 and is now not set`,
				`corpus.sha256 was "bb" and is now not set`}},
		{"no judge", func(id *result.Identity) { id.Judge, id.Scorer = nil, "exact" }, []string{
			`judge.model was "j" and is now not set`,
			`judge.prompt_sha256 was "cc" and is now not set`,
			`judge.prompt_version was "judge-1" and is now not set`,
			`judge.provider was "openai" and is now not set`,
			`scorer was "judge" and is now "exact"`}},
		{"a judge's prompt", func(id *result.Identity) { id.Judge.PromptSHA256 = "dd" },
			[]string{`judge.prompt_sha256 was "cc" and is now "dd"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := wholeIdentity()
			c.change(&other)
			if diff := cmp.Diff(c.want, Differences(wholeIdentity(), other)); diff != "" {
				t.Error(diff)
			}
			if back := Differences(other, wholeIdentity()); len(back) != len(c.want) {
				t.Errorf("in the other direction: %q", back)
			}
		})
	}
}
