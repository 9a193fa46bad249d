package result

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func wholeIdentity() Identity {
	return Identity{
		SchemaVersion: SchemaVersion, SDK: "go", Scorer: "judge", Brain: "eval", Scenario: AskBasic,
		Mode: "auto", TopK: 5, Dialect: Auto,
		Dataset: DatasetID{Path: "d.jsonl", SHA256: "aa", Selected: 3,
			Selection: &Selection{Tags: []string{"x"}, SHA256: "ss", Total: 9},
			Tags:      map[string]int{"a.b": 3}},
		Corpus: &CorpusID{Path: "c", SHA256: "bb", Documents: 2},
		Daemon: DaemonID{Program: "evalctl", CommandSHA256: "ee", Version: "1"},
		Reader: &ModelID{Provider: "openai", BaseURL: "https://h/v1", Model: "m"},
		Judge: &JudgeModel{Provider: "openai", Model: "j", PromptVersion: "judge-1",
			PromptSHA256: "cc"},
		Tool: ToolID{Version: "1", Commit: "x"},
	}
}

func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Identity)
		want   []string
	}{
		{"nothing", func(*Identity) {}, nil},
		{"the paths of the files",
			func(id *Identity) { id.Dataset.Path, id.Corpus.Path = "x", "y" }, nil},
		{"the tool", func(id *Identity) { id.Tool = ToolID{Version: "2", OS: "plan9", CPUs: 64} },
			nil},
		{"the dataset", func(id *Identity) { id.Dataset.SHA256, id.Dataset.Selected = "zz", 2 },
			[]string{`dataset.selected was 3 and is now 2`,
				`dataset.sha256 was "aa" and is now "zz"`}},
		{"how the same questions were selected", func(id *Identity) {
			id.Dataset.Selection = &Selection{Tags: []string{"y"}, Limit: 3, SHA256: "ss", Total: 9}
		}, nil},
		{"the selected questions", func(id *Identity) {
			id.Dataset.Selection = &Selection{Grep: "x", SHA256: "tt", Total: 9, Seed: new(uint64(0))}
		}, []string{`dataset.selection.sha256 was "ss" and is now "tt"`,
			`dataset.selection.shuffle_seed was not set and is now 0`}},
		{"repeats", func(id *Identity) { id.Dataset.Repeats = 3 },
			[]string{`dataset.repeats was not set and is now 3`}},
		{"the mode and top-k", func(id *Identity) { id.Mode, id.TopK = "bm25", 10 },
			[]string{`mode was "auto" and is now "bm25"`, `top_k was 5 and is now 10`}},
		{"the command", func(id *Identity) { id.Daemon.CommandSHA256 = "ff" },
			[]string{`daemon.command_sha256 was "ee" and is now "ff"`}},
		{"an endpoint for a command",
			func(id *Identity) { id.Daemon = DaemonID{Endpoint: "http://h", Version: "1"} },
			[]string{
				`daemon.command_sha256 was "ee" and is now not set`,
				`daemon.endpoint was not set and is now "http://h"`,
				`daemon.program was "evalctl" and is now not set`}},
		{"the reader's endpoint", func(id *Identity) { id.Reader.BaseURL = "https://g/v1" },
			[]string{`reader.base_url was "https://h/v1" and is now "https://g/v1"`}},
		{"no corpus", func(id *Identity) { id.Corpus = nil },
			[]string{`corpus.documents was 2 and is now not set`,
				`corpus.sha256 was "bb" and is now not set`}},
		{"no judge", func(id *Identity) { id.Judge, id.Scorer = nil, "exact" }, []string{
			`judge.model was "j" and is now not set`,
			`judge.prompt_sha256 was "cc" and is now not set`,
			`judge.prompt_version was "judge-1" and is now not set`,
			`judge.provider was "openai" and is now not set`,
			`scorer was "judge" and is now "exact"`}},
		{"a judge's prompt", func(id *Identity) { id.Judge.PromptSHA256 = "dd" },
			[]string{`judge.prompt_sha256 was "cc" and is now "dd"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := wholeIdentity()
			c.change(&other)
			if diff := cmp.Diff(c.want, wholeIdentity().Differences(other)); diff != "" {
				t.Error(diff)
			}
			if back := other.Differences(wholeIdentity()); len(back) != len(c.want) {
				t.Errorf("in the other direction: %q", back)
			}
		})
	}
}

// TestDifferencesOfEveryField checks that every field counts, also one that is added later.
func TestDifferencesOfEveryField(t *testing.T) {
	var leaves func(prefix string, v any) []string
	leaves = func(prefix string, v any) []string {
		m, ok := v.(map[string]any)
		if !ok {
			return []string{prefix}
		}
		var out []string
		for k, sub := range m {
			out = append(out, leaves(strings.TrimPrefix(prefix+"."+k, "."), sub)...)
		}
		return out
	}
	id := wholeIdentity()
	id.Dataset.Tags = nil
	data, _ := json.Marshal(id)
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, key := range leaves("", tree) {
		if !incidental(key) {
			want = append(want, key)
		}
	}
	// candidate_k, rerank_top_n and the temperature are the same in both.
	if got := id.Differences(Identity{}); len(got) < len(want)-3 {
		t.Errorf("%d of %d fields differ:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
}

// TestStartedDaemon checks that commands with any difference have different hashes, and that
// arguments are not revealed.
func TestStartedDaemon(t *testing.T) {
	seen := map[string][]string{}
	for _, command := range [][]string{
		{"d"}, {"d", ""}, {"d", "a", "b"}, {"d", "a b"}, {"d", "ab"},
		{"d", "--token", "s3cret"}, {"d", "--token", "0ther"},
	} {
		id := StartedDaemon(command)
		if id.Program != "d" || strings.Contains(fmt.Sprint(id), "s3cret") {
			t.Errorf("%q is %+v", command, id)
		}
		if other, ok := seen[id.CommandSHA256]; ok {
			t.Errorf("%q and %q have the same hash", command, other)
		}
		seen[id.CommandSHA256] = command
	}
}
