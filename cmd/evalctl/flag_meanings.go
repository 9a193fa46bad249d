package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// meanings has what flags mean that several commands have, by name with _ for -. The tags of the
// flags refer to them as ${about_NAME}, so that a flag means the same in all commands.
var meanings = map[string]string{
	"accept":          "Compare although KEY differs or is not recorded, such as judge_prompt.",
	"addr":            "Address to listen on; port 0 picks a free one",
	"baseline":        "Earlier result to compare with; in compare, one of its files or sides.",
	"brain_tag":       "Questions with the tag TAG:X are about brain X, with the documents that have a folder X in their path.",
	"candidate_k":     "Number of candidates, for search-retrieve-only. 0: the daemon's default.",
	"cluster":         "Cluster questions by their tag TAG:X in intervals and tests; brain: by brain, none: not at all. Default: as the data say.",
	"concurrency":     "Number of questions, checks or requests at a time",
	"corpus":          "Documents: a folder of .md files, or a .jsonl file. Default: <dataset>.corpus. none: no documents, in bench synthetic ones.",
	"daemon_cmd":      "Command that starts the daemon, with {addr}, {port} or {home}, in conformance also {keys}. Overrides SVC_SDK_<TARGET>_CMD.",
	"dataset":         "File of questions in JSONL; in replay, import and verify audit also a published benchmark.",
	"default_brain":   "Id or slug of the brain of requests that name none. Default: the daemon's, which is the oldest that the key permits.",
	"endpoint":        "Use a running daemon. Its token is read from $SVC_TOKEN.",
	"errata":          "Known errors of a benchmark's gold: questions to leave out or to correct.",
	"format":          "Form of the output",
	"home":            "Folder for brains. Default: in serve mcp, evalctl in the user's data folder; in serve none, and all data is lost on exit.",
	"html":            "Write an HTML page. Each of several results gets another beside it.",
	"ids":             "Ask only the questions with these ids, or with @FILE those in a file, one a line. replay takes a file.",
	"input_format":    "Format of the file that is read",
	"json":            "Print JSON instead of text.",
	"judge":           "Model that judges. Default: the one of --model.",
	"judge_prompts":   "Folder with your own instructions for the judge: TYPE.txt for each type of question to replace.",
	"junit":           "Write the result as JUnit XML.",
	"labels":          "JSONL file of answers with labels. judge label continues it; judge estimate takes one for each labeller.",
	"llm_provider":    "Provider of models without one: openai, ollama or fake.",
	"margin":          "Largest loss of pass rate against --baseline that is accepted",
	"markdown":        "Write a summary in Markdown, smaller than 1 MiB.",
	"metrics":         "Write the figures in the OpenMetrics text format, for Prometheus.",
	"min_per_stratum": "Minimum number of questions of each type, or other stratum",
	"mode":            "Retrieval mode, sent to the daemon unchanged: ${modes}",
	"model":           "Model that answers, also in a started daemon. Provider: openai, ollama or fake; default: SVC_LLM_PROVIDER, else openai.",
	"notify":          "At the end, send a JSON summary to a webhook, such as Slack's. Other users can read a command line, but not $SVC_NOTIFY_URL.",
	"output":          "File or folder to write to",
	"port":            "Port of the started daemon; the further ones of a replay get the following ports. 0: free ports.",
	"queue":           "PostgreSQL queue of questions for workers. A password belongs in $SVC_QUEUE, PGPASSWORD or ~/.pgpass.",
	"primary":         "Measures that are tested by themselves: pass_rate, score, evidence_recall, recall, ndcg, reciprocal_rank, average_precision, total, first_token or felt (latencies). Default: pass_rate; for the scorer retrieval recall, by evidence if that scores.",
	"quiet":           "Print only errors on stderr.",
	"resume":          "Continue a stopped command; all other flags come from its journal or ledger.",
	"sample_size":     "Draw at most N questions, in the proportions of their types. 0: all.",
	"scorer":          "Scorer: ${scorer_help}, or cmd:COMMAND or a URL for a scorer of your own",
	"seed":            "Seed for random draws: an order, a sample, synthetic documents, planted facts",
	"store":           "Storage: memory, fs, git, or the URL of a PostgreSQL database, which any number of daemons share. Default: fs with a home, else memory.",
	"target":          "Target, also --sdk: go, ts, py, one of evalctl.yaml, NAME=URL or NAME='COMMAND'. Repeatable in run, replay and bench.",
	"timeout":         "Time limit for one question, all attempts included",
	"token":           "Bearer token for the daemon or server. Other users can read a command line, but not $SVC_TOKEN.",
	"top_k":           "Number of passages to retrieve, sent as top_k",

	"request_timeout": "Time limit of one request",
	"traces":          "Write a trace for each question as OTLP in JSON Lines, for the OpenTelemetry collector.",
	"wrong":           "Result of answers that are wrong on purpose, with verdicts of the same judge. In judge check imported, in place of --labels; in verify audit also stored answers.",
}

// expandTags replaces the variables of tags by their values, and ${about_NAME} by a text of
// meanings. Kong's own variables, such as ${default}, stay: Kong replaces them, but it would go
// through all of vars again for each flag, which takes longer than most commands.
func expandTags(vars map[string]string) kong.Option {
	pairs := func(prefix string, values map[string]string) (list []string) {
		for name, value := range values {
			list = append(list, "${"+prefix+name+"}", value)
		}
		return list
	}
	names := strings.NewReplacer(pairs("", vars)...)
	texts := strings.NewReplacer(pairs("about_", meanings)...)
	return kong.PostBuild(func(k *kong.Kong) error {
		return kong.Visit(k.Model.Node, func(node kong.Visitable, next kong.Next) error {
			if v, ok := node.(*kong.Value); ok {
				own := strings.NewReplacer(pairs("", v.Tag.Vars)...) // of the command, instead of a text
				v.Help = names.Replace(texts.Replace(own.Replace(v.Help)))
				v.Enum, v.Default = names.Replace(v.Enum), names.Replace(v.Default)
			}
			return next(nil)
		})
	})
}
