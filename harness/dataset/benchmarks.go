package dataset

import (
	"bytes"
	"regexp"
	"slices"
)

// The formats in which memory benchmarks are published.
const (
	LongMemEval Format = "longmemeval"
	LoCoMo      Format = "locomo"
	BEAM        Format = "beam"
	ConvoMem    Format = "convomem"
	PersonaMem  Format = "personamem"

	MemoryAgentBench Format = "memoryagentbench"
	PrefEval         Format = "prefeval"
	LettaFacts       Format = "letta"
	AgentMemory      Format = "agent-memory-benchmark"
	BEIR             Format = "beir"
	HaluMem          Format = "halumem"
	LoCoMoPlus       Format = "locomo-plus"
	LongMemEval2     Format = "longmemeval-v2"
	LifeBench        Format = "lifebench"
)

// Shape is the structure of a benchmark file.
type Shape string

// The shapes of files.
const (
	ArrayFile  Shape = "a JSON array of objects"
	ObjectFile Shape = "one JSON object"
	TableFile  Shape = "a CSV table"
	LinesFile  Shape = "JSON lines or an array"
	FolderFile Shape = "JSON lines in a folder with others"
)

// Benchmark is the format of a published benchmark.
type Benchmark struct {
	Format Format
	// Title is the display name of the benchmark.
	Title string
	// Keys identify the format: keys of a file's first object, or columns of its table, that no
	// other format has. Messages name the first one.
	Keys  []string
	Shape Shape
}

var benchmarks = []Benchmark{
	{LongMemEval, "LongMemEval", []string{
		"haystack_sessions", "haystack_session_ids", "haystack_dates", "answer_session_ids",
	}, ArrayFile},
	{LoCoMo, "LoCoMo", []string{"conversation", "qa", "sample_id"}, ArrayFile},
	{BEAM, "BEAM", []string{"batch_number"}, ArrayFile},
	{ConvoMem, "ConvoMem", []string{"evidenceItems", "contextSize", "evidence_items"}, ObjectFile},
	{PersonaMem, "PersonaMem", []string{"all_options", "chat_history_32k_link"}, TableFile},
	{MemoryAgentBench, "MemoryAgentBench", []string{"questions"}, LinesFile},
	{PrefEval, "PrefEval", []string{"classification_task_options"}, ArrayFile},
	{AgentMemory, "agent-memory-benchmark", []string{"gold_ids", "gold_answers"}, ArrayFile},
	{LettaFacts, "Letta's benchmark of facts", []string{"supporting_fact_indices", "contradicting_facts"}, LinesFile},
	{HaluMem, "HaluMem", []string{"persona_info"}, LinesFile},
	{LoCoMoPlus, "LoCoMo-Plus", []string{"cue_dialogue", "trigger_query"}, ArrayFile},
	{LongMemEval2, "LongMemEval-V2", []string{"eval_function"}, LinesFile},
	{LifeBench, "LifeBench", []string{"ask_time", "score_points"}, ArrayFile},
	{BEIR, "BEIR", []string{"_id"}, FolderFile},
}

// Benchmarks returns the formats of benchmarks.
func Benchmarks() []Benchmark { return slices.Clone(benchmarks) }

// BenchmarkOf returns the only format with this key in the first object of its files, or "".
func BenchmarkOf(key string) Format {
	for _, b := range benchmarks {
		if b.Shape != FolderFile && slices.Contains(b.Keys, key) {
			return b.Format
		}
	}
	return ""
}

// isQueries reports whether an object with these keys is a BEIR query. BEIR documents have a title
// too, and other objects with an _id have other keys.
func isQueries(keys []string) bool {
	for _, key := range keys {
		if key != "_id" && key != "text" && key != "metadata" {
			return false
		}
	}
	return slices.Contains(keys, "_id") && slices.Contains(keys, "text")
}

// benchmarkOf returns the format of this shape with one of the keys, or "".
func benchmarkOf(shape Shape, keys ...string) Format {
	for _, b := range benchmarks {
		if b.Shape == shape && slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(b.Keys, k) }) {
			return b.Format
		}
	}
	return ""
}

// agentRow matches the beginning of rows of MemoryAgentBench.
var agentRow = regexp.MustCompile(`^\[?\s*\{\s*"(context|questions|answers|metadata)"\s*:`)

// isAgentBench reports whether a text begins like a MemoryAgentBench file. Its context may be
// longer than the head of the file. Tables of other questions about a context have the key
// question.
func isAgentBench(text []byte) bool {
	has := func(key string) bool { return bytes.Contains(text, []byte(key)) }
	return agentRow.Match(text) && !has(`"question":`) &&
		(has(`"questions":`) || has(`"context":`) && len(text) > headBytes-1024)
}

// chatStart matches the beginning of a BEAM chat of lists of messages, or of plans.
var chatStart = regexp.MustCompile(`^\[\s*(\[\s*\{|\{\s*"plan-[0-9]+"\s*:)`)

// isChat reports whether an array begins like a BEAM chat without batch numbers at its start.
func isChat(text []byte) bool {
	return chatStart.Match(text) && bytes.Contains(text, []byte(`"time_anchor"`))
}

// IsBenchmark reports whether f is one of Benchmarks.
func (f Format) IsBenchmark() bool {
	return slices.ContainsFunc(benchmarks, func(b Benchmark) bool { return b.Format == f })
}

// title names the format in messages.
func (f Format) title() string {
	for _, b := range benchmarks {
		if b.Format == f {
			return "a " + b.Title + " benchmark"
		}
	}
	return formatNames[f]
}
