package result

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// SchemaVersion is the version of result files, sweep files and journals.
const SchemaVersion = 1

// Identity is everything that affects the outcome of a run. Two runs with the same identity are the
// same experiment.
type Identity struct {
	SchemaVersion int    `json:"schema_version"`
	SDK           string `json:"sdk"`
	Scorer        string `json:"scorer"`
	// ExactCase says whether the exact scorer distinguished upper and lower case. It is nil with
	// other scorers, and in files of an older evalctl, which compared text differently.
	ExactCase *bool `json:"exact_case,omitempty"`
	// External is the user's scorer, nil for a built-in one.
	External *ExternalScorer `json:"external_scorer,omitempty"`
	// Brain is the name of the run's brain, or the common name of several. The dataset and
	// BrainTag, the tag that names a question's brain, determine the brains.
	Brain    string `json:"brain"`
	BrainTag string `json:"brain_tag,omitempty"`
	// Isolated is set if each question was asked in its own brain.
	Isolated   bool     `json:"isolated,omitempty"`
	Scenario   Scenario `json:"scenario"`
	Mode       string   `json:"mode"`
	TopK       int      `json:"top_k"`
	CandidateK int      `json:"candidate_k"`
	RerankTopN int      `json:"rerank_top_n"`
	// MaxPerDocument is the maximum number of passages of one document, 0 for no limit, nil if the
	// daemon decided.
	MaxPerDocument *int        `json:"max_per_document,omitempty"`
	Dialect        Dialect     `json:"dialect"`
	Dataset        DatasetID   `json:"dataset"`
	Corpus         *CorpusID   `json:"corpus"`
	Daemon         DaemonID    `json:"daemon"`
	Reader         *ModelID    `json:"reader"`
	Judge          *JudgeModel `json:"judge"`
	// Panel has the recipes that judged. Judge is the judge of the first recipe. It is nil for one
	// judge.
	Panel []Recipe `json:"judge_panel,omitempty"`
	Tool  ToolID   `json:"tool"`
	// Rescored is nil unless the answers are from an earlier result.
	Rescored *RescoreSource `json:"rescored,omitempty"`
	// Imported is nil unless another harness stored the answers.
	Imported *ImportedID `json:"imported,omitempty"`
	// Replay is nil in a run.
	Replay *ReplayID `json:"replay,omitempty"`
}

// RescoreSource is the result whose answers were scored again, with its scorer.
type RescoreSource struct {
	SHA256 string `json:"sha256"`
	// MeasuredAt is when the run that got the answers began, zero in older files.
	MeasuredAt time.Time       `json:"measured_at,omitzero"`
	Scorer     string          `json:"scorer"`
	ExactCase  *bool           `json:"exact_case,omitempty"`
	Judge      *JudgeModel     `json:"judge"`
	External   *ExternalScorer `json:"external_scorer,omitempty"`
}

// ReplayID is what determines the outcome of a replay in addition to the identity of a run.
type ReplayID struct {
	// Sample is the signature of the drawn questions.
	Sample string `json:"sample"`
	// Ingest is the mode in which the brains were filled, empty for a baseline. Shared is set if
	// all haystacks are in one brain.
	Ingest string `json:"ingest_mode,omitempty"`
	Shared bool   `json:"shared_brain"`
	Actor  Actor  `json:"actor"`
	// Errata is the SHA-256 of the errata, empty without any.
	Errata string `json:"errata_sha256,omitempty"`
	// OptionSeed is the seed of the order of options in multiple-choice questions.
	OptionSeed uint64 `json:"option_seed,omitempty"`
}

// DatasetID identifies the questions: the hash of the file, and which of its questions are asked,
// how often and in which order.
type DatasetID struct {
	Path     string `json:"path"`
	SHA256   string `json:"sha256"`
	Selected int    `json:"selected"`
	// Selection is nil if all questions are asked in file order.
	Selection *Selection `json:"selection,omitempty"`
	// Repeats is how often each question is asked, 0 for once. Selected includes all repeats.
	Repeats int            `json:"repeats,omitempty"`
	Tags    map[string]int `json:"tags"`
}

// CorpusID identifies the documents with which the brains were seeded.
type CorpusID struct {
	Path      string `json:"path"`
	SHA256    string `json:"sha256"`
	Documents int    `json:"documents"`
}

// DaemonID identifies the daemon: a started one by Program and CommandSHA256, a running one by
// Endpoint. Version is the version in its health check, which may be empty.
type DaemonID struct {
	Program       string `json:"program,omitempty"`
	CommandSHA256 string `json:"command_sha256,omitempty"`
	Endpoint      string `json:"endpoint,omitempty"`
	Version       string `json:"version"`
	// Mapping and MappingSHA256 identify the mapping of a service that does not speak the protocol,
	// see Mapped.
	Mapping       string `json:"mapping,omitempty"`
	MappingSHA256 string `json:"mapping_sha256,omitempty"`
}

// StartedDaemon identifies a daemon by its command, a program and its arguments with unreplaced
// placeholders. Only a hash of the arguments is kept, because they may contain a token.
func StartedDaemon(command []string) DaemonID {
	// No argument can contain a zero byte.
	sum := sha256.Sum256([]byte(strings.Join(command, "\x00")))
	return DaemonID{Program: command[0], CommandSHA256: hex.EncodeToString(sum[:])}
}

// ExternalScorer identifies a user's program or service that scores. It reports Name and Version
// itself.
type ExternalScorer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Program and CommandSHA256 identify a command, as in DaemonID.
	Program       string `json:"program,omitempty"`
	CommandSHA256 string `json:"command_sha256,omitempty"`
	// FilesSHA256 is over the contents of the files named by the command. Files is their number.
	// Files that these import or read, and a program found in PATH, are not covered.
	FilesSHA256 string `json:"files_sha256,omitempty"`
	Files       int    `json:"files,omitempty"`
	// Endpoint is the URL of a service, without its query.
	Endpoint string `json:"endpoint,omitempty"`
}

// ModelID is the reader model with which the daemon was started. BaseURL contains no credentials,
// and is empty for a provider that needs none.
type ModelID struct {
	Provider string `json:"provider"`
	BaseURL  string `json:"base_url,omitempty"`
	Model    string `json:"model"`
}

// JudgeModel is the judge with its prompt. Temperature is nil for a model that does not accept one.
type JudgeModel struct {
	Provider      string   `json:"provider"`
	BaseURL       string   `json:"base_url,omitempty"`
	Model         string   `json:"model"`
	PromptVersion string   `json:"prompt_version"`
	PromptSHA256  string   `json:"prompt_sha256"`
	Temperature   *float64 `json:"temperature"`
	// Options are the user's options for requests to the model, as text.
	Options string `json:"options,omitempty"`
}

// ToolID is the evalctl that ran.
type ToolID struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CPUs    int    `json:"cpus"`
}
