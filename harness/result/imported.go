package result

import (
	"fmt"
	"strings"

	"evalctl/scorer"
)

// ScorerImported is the scorer of a result whose verdicts are those of another harness.
const ScorerImported = scorer.Imported

// ImportedID identifies answers that another harness stored.
type ImportedID struct {
	// Formats are those of the files, by name, each once.
	Formats []string `json:"formats"`
	// SHA256 are the digests of the files, in the order given, MappingSHA256 that of the mapping file.
	SHA256        []string `json:"sha256"`
	MappingSHA256 string   `json:"mapping_sha256,omitempty"`
	// Benchmark is what the files say of the benchmark and its version, empty if they do not.
	Benchmark string `json:"benchmark,omitempty"`
	// JudgeModels and JudgePrompt are the judge that the files name: models, and the SHA-256 of the
	// prompt. JudgeID is what the user says of the judge, its model and its prompt. All are empty if
	// nothing is known.
	JudgeID     string   `json:"judge_id,omitempty"`
	JudgeModels []string `json:"judge_models,omitempty"`
	JudgePrompt string   `json:"judge_prompt_sha256,omitempty"`
	// Votes is how many verdicts the files have on an answer, and how they decide. It is empty in older
	// results.
	Votes string `json:"votes,omitempty"`
	// Reader is what the user says of the model that wrote the answers, if the files do not.
	Reader string `json:"reader,omitempty"`
	// Errata and OptionSeed are those of ReplayID.
	Errata     string `json:"errata_sha256,omitempty"`
	OptionSeed uint64 `json:"option_seed,omitempty"`
}

// Imported says where the answers of a result come from, if another harness stored them, and what
// became of each answer in its files.
type Imported struct {
	Files []ImportedFile `json:"files"`
	// Answers is the number of answers in the files. Each is the answer to a question of the result, or
	// completes one, or is in Unmatched.
	Answers int `json:"answers"`
	// MatchedBy counts the answers by how their question was found: id, position or text.
	MatchedBy map[string]int `json:"matched_by"`
	// Conversations are the names of conversations in the files, with those of the dataset that have
	// their questions.
	Conversations map[string]string `json:"conversations,omitempty"`
	Unmatched     []Unmatched       `json:"unmatched"`
	// Unanswered are the ids of questions of the dataset to which no file has an answer. They do not
	// count.
	Unanswered []string `json:"unanswered"`
	// GoldDiffers has the questions whose gold in the files is not that of the dataset, which counts.
	GoldDiffers []GoldDiffers `json:"gold_differs"`
}

// ImportedFile is a file of answers.
type ImportedFile struct {
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Bytes   int64  `json:"bytes"`
	Format  string `json:"format"`
	Answers int    `json:"answers"`
	// Mapped has the JSON path of each field that was read, in an answer or in its conversation.
	Mapped map[string]string `json:"mapped"`
	// LeftOut counts the values that were not read, by key. Keys that begin with $ are of the file or of
	// a conversation, others of an answer.
	LeftOut map[string]int `json:"left_out"`
}

// Summary says in one line where the answers come from and what became of them.
func (im *Imported) Summary() string {
	var files []string
	for _, f := range im.Files {
		files = append(files, fmt.Sprintf("%s (%s, sha256 %.8s…)", f.Path, f.Format, f.SHA256))
	}
	return fmt.Sprintf("%s: %d answers, %d without a question, %d questions without an answer, %d with another gold",
		strings.Join(files, ", "), im.Answers, len(im.Unmatched), len(im.Unanswered), len(im.GoldDiffers))
}

// Unmatched is an answer that is no part of the result.
type Unmatched struct {
	Path string `json:"path"`
	// Place is where it is in the file, as a JSON path.
	Place    string `json:"place"`
	ID       string `json:"id,omitempty"`
	Question string `json:"question,omitempty"`
	Reason   string `json:"reason"`
}

// GoldDiffers is a question with two golds.
type GoldDiffers struct {
	ID      string `json:"id"`
	Place   string `json:"place"`
	InFile  string `json:"in_file"`
	Dataset string `json:"dataset"`
}
