package result

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// SchemaVersion is the version of result files, sweep files and journals.
const SchemaVersion = 1

// Identity is everything that affects the outcome of a run. Two runs with the same identity are the
// same experiment.
type Identity struct {
	SchemaVersion int    `json:"schema_version"`
	SDK           string `json:"sdk"`
	Scorer        string `json:"scorer"`
	// ExactCase says whether upper and lower case mattered to the exact scorer. It is nil with another
	// scorer, and of an older evalctl, which compared text in another way.
	ExactCase *bool `json:"exact_case,omitempty"`
	// External is the scorer of the user's own, nil for another one.
	External *ExternalScorer `json:"external_scorer,omitempty"`
	// Brain is the name of the run's brain, or one name for several of them. Which brains there are
	// follows from the dataset and BrainTag, the tag that names a question's brain.
	Brain    string `json:"brain"`
	BrainTag string `json:"brain_tag,omitempty"`
	// Isolated is set if each question was asked in a brain of its own.
	Isolated   bool     `json:"isolated,omitempty"`
	Scenario   Scenario `json:"scenario"`
	Mode       string   `json:"mode"`
	TopK       int      `json:"top_k"`
	CandidateK int      `json:"candidate_k"`
	RerankTopN int      `json:"rerank_top_n"`
	// MaxPerDocument is the maximum number of passages of one document, 0 for no limit. It is nil if
	// the daemon decided.
	MaxPerDocument *int        `json:"max_per_document,omitempty"`
	Dialect        Dialect     `json:"dialect"`
	Dataset        DatasetID   `json:"dataset"`
	Corpus         *CorpusID   `json:"corpus"`
	Daemon         DaemonID    `json:"daemon"`
	Reader         *ModelID    `json:"reader"`
	Judge          *JudgeModel `json:"judge"`
	// Panel are the recipes that judged, Judge being that of the first. It is nil for one judge.
	Panel []Recipe `json:"judge_panel,omitempty"`
	Tool  ToolID   `json:"tool"`
	// Rescored is nil unless the answers are those of an earlier result.
	Rescored *RescoreSource `json:"rescored,omitempty"`
	// Imported is nil unless the answers are those that another harness stored.
	Imported *ImportedID `json:"imported,omitempty"`
	// Replay is nil in a run.
	Replay *ReplayID `json:"replay,omitempty"`
}

// RescoreSource is the result whose answers were scored again, and by what they were scored in it.
type RescoreSource struct {
	SHA256    string          `json:"sha256"`
	Scorer    string          `json:"scorer"`
	ExactCase *bool           `json:"exact_case,omitempty"`
	Judge     *JudgeModel     `json:"judge"`
	External  *ExternalScorer `json:"external_scorer,omitempty"`
}

// ReplayID is what determines the outcome of a replay besides what determines that of a run.
type ReplayID struct {
	// Sample is the signature of the questions that were drawn.
	Sample string `json:"sample"`
	// Ingest is how the brains were filled, empty for a baseline, Shared whether all haystacks are in
	// one brain.
	Ingest string `json:"ingest_mode,omitempty"`
	Shared bool   `json:"shared_brain"`
	Actor  Actor  `json:"actor"`
	// Errata is the SHA-256 of the errata, empty without any.
	Errata string `json:"errata_sha256,omitempty"`
	// OptionSeed is the seed of the order of options in multiple-choice questions.
	OptionSeed uint64 `json:"option_seed,omitempty"`
}

// DatasetID identifies the questions: the hash of the whole file, and which of its questions are
// asked, how often and in which order.
type DatasetID struct {
	Path     string `json:"path"`
	SHA256   string `json:"sha256"`
	Selected int    `json:"selected"`
	// Selection is nil if all questions are asked, in the order of the file.
	Selection *Selection `json:"selection,omitempty"`
	// Repeats is how often each question is asked, 0 for once. Selected counts all repeats.
	Repeats int            `json:"repeats,omitempty"`
	Tags    map[string]int `json:"tags"`
}

// CorpusID identifies the documents that the brains were seeded with.
type CorpusID struct {
	Path      string `json:"path"`
	SHA256    string `json:"sha256"`
	Documents int    `json:"documents"`
}

// DaemonID identifies the daemon: one that was started by Program and CommandSHA256, one that was
// running already by Endpoint. Version is what its health check reports, which may be empty.
type DaemonID struct {
	Program       string `json:"program,omitempty"`
	CommandSHA256 string `json:"command_sha256,omitempty"`
	Endpoint      string `json:"endpoint,omitempty"`
	Version       string `json:"version"`
	// Mapping and MappingSHA256 are those of a service that does not speak the protocol, see Mapped.
	Mapping       string `json:"mapping,omitempty"`
	MappingSHA256 string `json:"mapping_sha256,omitempty"`
}

// StartedDaemon identifies a daemon by its command: a program and its arguments, placeholders not
// replaced. Only a hash of the arguments is kept, because they may contain a token.
func StartedDaemon(command []string) DaemonID {
	// No argument can contain a zero byte.
	sum := sha256.Sum256([]byte(strings.Join(command, "\x00")))
	return DaemonID{Program: command[0], CommandSHA256: hex.EncodeToString(sum[:])}
}

// ExternalScorer identifies a scorer that is a program or a service of the user's. Name and Version
// are what it says of itself.
type ExternalScorer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Program and CommandSHA256 are those of a command, as in DaemonID.
	Program       string `json:"program,omitempty"`
	CommandSHA256 string `json:"command_sha256,omitempty"`
	// FilesSHA256 is over the contents of the files that the command names, whose number is Files. It
	// covers nothing that these import or read, and no program that is found in PATH.
	FilesSHA256 string `json:"files_sha256,omitempty"`
	Files       int    `json:"files,omitempty"`
	// Endpoint is the URL of a service, without its query.
	Endpoint string `json:"endpoint,omitempty"`
}

// ModelID is the reader model that the daemon was started with. BaseURL is empty for a provider
// that needs none, and contains no credentials.
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
	// Options are those by which the user says how the model is asked, as text.
	Options string `json:"options,omitempty"`
}

// TemperatureText returns the temperature for people, "default" without one.
func (j *JudgeModel) TemperatureText() string {
	if j.Temperature == nil {
		return "default"
	}
	return fmt.Sprint(*j.Temperature)
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

// ScoredBy returns the scorer for people.
func (id Identity) ScoredBy() string {
	if e := id.External; e != nil {
		return fmt.Sprintf("%s %s %s", id.Scorer, e.Name, e.Version)
	}
	if id.ExactCase != nil && *id.ExactCase {
		return id.Scorer + ", with case"
	}
	return id.Scorer
}
