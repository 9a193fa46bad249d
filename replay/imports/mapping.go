package imports

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"evalctl/harness/result"
	"evalctl/internal/figure"
	"evalctl/internal/inputfile"

	"github.com/theory/jsonpath"

	"evalctl/harness/resultfile"
	"evalctl/internal/yamlfile"
)

// mappingFile is a file that describes a layout with JSON paths (RFC 9535).
type mappingFile struct {
	Name          string   `yaml:"name"`
	Conversations string   `yaml:"conversations"`
	Answers       string   `yaml:"answers"`
	ID            string   `yaml:"id"`
	Conversation  string   `yaml:"conversation"`
	Question      string   `yaml:"question"`
	Gold          string   `yaml:"gold"`
	Answer        string   `yaml:"answer"`
	Verdict       string   `yaml:"verdict"`
	Reason        string   `yaml:"reason"`
	Error         string   `yaml:"error"`
	Type          string   `yaml:"type"`
	Model         string   `yaml:"model"`
	LatencyMS     string   `yaml:"latency_ms"`
	LatencyS      string   `yaml:"latency_s"`
	InputTokens   string   `yaml:"input_tokens"`
	OutputTokens  string   `yaml:"output_tokens"`
	CostUSD       string   `yaml:"cost_usd"`
	JudgeModel    string   `yaml:"judge_model"`
	JudgePrompt   string   `yaml:"judge_prompt"`
	Benchmark     string   `yaml:"benchmark"`
	Position      string   `yaml:"question_index"`
	Category      string   `yaml:"category"`
	Retrieved     string   `yaml:"retrieved"`
	JudgeID       string   `yaml:"judge_id"`
	ReaderID      string   `yaml:"reader_id"`
	Right         []string `yaml:"right"`
	Wrong         []string `yaml:"wrong"`
	Unjudged      []string `yaml:"unjudged"`
	Votes         string   `yaml:"votes"`
}

// readMapping reads a mapping file. Errors have its path and, if possible, the line.
func readMapping(path string) (layout, error) {
	if err := resultfile.Unexpected(path, "a mapping of answers in YAML"); err != nil {
		return layout{}, err
	}
	data, err := inputfile.ReadText(path, inputfile.Small)
	if err != nil {
		return layout{}, fmt.Errorf("read the mapping: %w", err)
	}
	m := mappingFile{Conversations: "$", Answers: "$[*]"}
	if err := yamlfile.Decode(path, data, &m); errors.Is(err, yamlfile.ErrEmpty) {
		return layout{}, fmt.Errorf("%s is empty; a mapping has answer, and id or question", path)
	} else if err != nil {
		return layout{}, err
	}
	sum := sha256.Sum256(data)
	l := layout{
		name: Mapped, title: m.Name, conversations: m.Conversations, answers: m.Answers, right: m.Right, wrong: m.Wrong,
		unjudged: m.Unjudged, votes: result.VoteRule(m.Votes),
		judgeID: m.JudgeID, readerID: m.ReaderID, fields: map[string][]string{}, mappingSHA256: hex.EncodeToString(sum[:]),
	}
	values := []string{
		m.ID, m.Conversation, m.Question, m.Gold, m.Answer, m.Verdict, m.Reason, m.Error, m.Type, m.Model, m.LatencyMS,
		m.LatencyS, m.InputTokens, m.OutputTokens, m.CostUSD, m.JudgeModel, m.JudgePrompt, m.Benchmark, m.Position, m.Category, m.Retrieved,
	}
	for i, name := range fieldNames {
		if values[i] != "" {
			l.fields[name] = []string{values[i]}
		}
	}
	return l, l.check(path)
}

// check rejects a mapping that cannot read anything.
func (l layout) check(path string) error {
	if l.fields[fieldAnswer] == nil {
		return fmt.Errorf("%s has no answer: the JSON path of the system's answer, such as $.response", path)
	}
	if l.fields[fieldID] == nil && l.fields[fieldQuestion] == nil {
		return fmt.Errorf("%s has neither id nor question, by which an answer's question is found", path)
	}
	if l.votes != "" && !slices.Contains(voteRules(), l.votes) {
		return fmt.Errorf("%s: votes is %.40q, and must be majority, mean or first", path, l.votes)
	}
	paths := map[string]string{"conversations": l.conversations, "answers": l.answers}
	for name, list := range l.fields {
		paths[name] = list[0]
	}
	for _, name := range append([]string{"conversations", "answers"}, fieldNames...) {
		if text, ok := paths[name]; ok {
			if _, err := jsonpath.Parse(text); err != nil {
				return fmt.Errorf("%s: %s: %.80q is not a JSON path: %w", path, name, text, err)
			}
		}
	}
	return nil
}

// checkMapped rejects a mapping with a path that selects nothing in any answer, except the path of
// errors, of which there may be none.
func checkMapped(path string, l layout, files []fileAnswers) error {
	for _, name := range fieldNames {
		used, answers := l.fields[name] == nil || name == fieldError, 0
		for _, f := range files {
			used = used || f.report.Mapped[name] != ""
			answers += f.report.Answers
		}
		if !used {
			return fmt.Errorf("%s: %s: the path %s selects nothing in any of %s; %s", path, name, l.fields[name][0],
				figure.Count(answers, "answer"), keysOf(files[0]))
		}
	}
	return nil
}

// keysOf lists the keys of a file's first answer.
func keysOf(f fileAnswers) string {
	rows, err := f.layout.rows(f.value)
	if err != nil || len(rows) == 0 {
		return "it has no answers"
	}
	object, _ := rows[0].value.(map[string]any)
	return fmt.Sprintf("the answer at %s in %s has the keys %s", rows[0].place, f.path, some(slices.Sorted(maps.Keys(object))))
}
