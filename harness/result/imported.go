package result

import (
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// GivenVerdicts reports whether the verdicts are from another harness, and were not measured by
// evalctl.
func (r *Result) GivenVerdicts() bool { return r.Identity.Scorer == scorer.Imported }

// ImportedID identifies answers stored by another harness.
type ImportedID struct {
	// Formats are the formats of the files, by name and without repetitions.
	Formats []string `json:"formats"`
	// SHA256 are the digests of the files, in the order given. MappingSHA256 is the digest of the
	// mapping file.
	SHA256        []string `json:"sha256"`
	MappingSHA256 string   `json:"mapping_sha256,omitempty"`
	// Benchmark is the benchmark and its version according to the files, empty if unknown.
	Benchmark string `json:"benchmark,omitempty"`
	// JudgeModels and JudgePrompt are the judge according to the files: models, and the SHA-256 of
	// the prompt. JudgeID is the user's description of the judge, its model and its prompt. Unknown
	// ones are empty.
	JudgeID     string   `json:"judge_id,omitempty"`
	JudgeModels []string `json:"judge_models,omitempty"`
	JudgePrompt string   `json:"judge_prompt_sha256,omitempty"`
	// Votes says how many verdicts the files have for an answer, and how they decide. It is empty
	// in older results.
	Votes string `json:"votes,omitempty"`
	// VoteRule is how several judgements make a verdict, empty if no answer has several.
	VoteRule VoteRule `json:"vote_rule,omitempty"`
	// Reader is the user's description of the model that wrote the answers, if the files do not
	// name it.
	Reader string `json:"reader,omitempty"`
	// Errata is as in ReplayID. OptionSeed is set in older results only; options are now in file
	// order.
	Errata     string `json:"errata_sha256,omitempty"`
	OptionSeed uint64 `json:"option_seed,omitempty"`
}

// ImportSource says where the answers of a result come from, if another harness stored them, and
// how each answer in its files was used.
type ImportSource struct {
	Files []ImportedFile `json:"files"`
	// Answers is the number of answers in the files. Each answers a question of the result,
	// completes another answer, or is in Unmatched.
	Answers int `json:"answers"`
	// MatchedBy counts the answers by how their question was found: id, position or text.
	MatchedBy map[string]int `json:"matched_by"`
	// Conversations maps names of conversations in the files to the names in the dataset.
	Conversations map[string]string `json:"conversations,omitempty"`
	Unmatched     []UnmatchedAnswer `json:"unmatched"`
	// Unanswered are the ids of questions of the dataset without an answer in the files. They do
	// not count.
	Unanswered []string `json:"unanswered"`
	// GoldDiffers has the questions whose gold in the files differs from the dataset. The dataset
	// counts.
	GoldDiffers []GoldDiffers `json:"gold_differs"`
	// StatedCost is the cost of the answers according to the files, nil if unknown.
	StatedCost *StatedCost `json:"stated_cost,omitempty"`
	// Stated are the totals stated in the files.
	Stated []StatedTotal `json:"stated,omitempty"`
	// Renamed are the types of questions whose name in the files belongs to another type of the
	// benchmark.
	Renamed []TypeRename `json:"renamed_types,omitempty"`
	// Errata is nil unless errata of the dataset concern questions with an answer.
	Errata *ImportedErrata `json:"errata,omitempty"`
}

// StatedCost is the sum of the costs that files state for answers of the result. evalctl paid none
// of it.
type StatedCost struct {
	USD llm.USD `json:"usd"`
	// Answers is the number of answers with a stated cost.
	Answers int `json:"answers"`
}

// StatedTotal is a total that a file states for its answers.
type StatedTotal struct {
	Path  string `json:"path"`
	Place string `json:"place"`
	// Figure is total, judged, correct or rate.
	Figure string  `json:"figure"`
	InFile float64 `json:"in_file"`
	// Counted is the figure computed from the answers in the file. Agrees is set if it equals
	// InFile, to the digits of InFile.
	Counted float64 `json:"counted"`
	Agrees  bool    `json:"agrees"`
}

// TypeRename is a type of questions that the files call by the name of another one.
type TypeRename struct {
	InFile    string `json:"in_file"`
	Benchmark string `json:"benchmark"`
	Answers   int    `json:"answers"`
}

// ImportedErrata is the effect of errata on imported verdicts, which were made before.
type ImportedErrata struct {
	// OldKey are the ids of questions with a corrected gold that were judged by the old gold,
	// according to the file's gold. Unknown are the ids of those where the files do not show by
	// which gold. Excluded are the ids of questions that the errata exclude.
	OldKey   []string `json:"old_key"`
	Unknown  []string `json:"unknown_key"`
	Excluded []string `json:"excluded"`
	// All counts all judged answers, including excluded ones. Without omits excluded ones, OldKey
	// and Unknown.
	All     Counts `json:"all"`
	Without Counts `json:"without"`
}

// ImportedFile is a file of answers.
type ImportedFile struct {
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Bytes   int64  `json:"bytes"`
	Format  string `json:"format"`
	Answers int    `json:"answers"`
	// Judged is the number of answers with a verdict, Passed how many of them passed, whether or
	// not they have a question.
	Judged int `json:"judged"`
	Passed int `json:"passed"`
	// Mapped has the JSON path of each field that was read, in an answer or in its conversation.
	Mapped map[string]string `json:"mapped"`
	// LeftOut counts the values that were not read, by key. Keys that begin with $ are of the file
	// or of a conversation, others of an answer.
	LeftOut map[string]int `json:"left_out"`
}

// UnmatchedAnswer is an answer that does not belong to the result.
type UnmatchedAnswer struct {
	Path string `json:"path"`
	// Place is its place in the file, as a JSON path.
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
