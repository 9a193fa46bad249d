package main

import (
	"maps"
	"strings"

	"github.com/alecthomas/kong"
)

// meanings has what flags mean that several commands have, by name with _ for -. The tags of the
// flags refer to them as ${about_NAME}, so that a flag means the same in all commands.
var meanings = kong.Vars{
	"accept":          "Compare all the same what differs in KEY, or does not record it, such as judge_prompt. May be repeated.",
	"addr":            "Address to listen on; port 0 picks a free one",
	"baseline":        "Earlier result that is compared with, question by question or figure by figure. In compare, one of its files or sides.",
	"brain_tag":       "Questions with the tag TAG:X are about brain X, which has the documents with a folder X in their path.",
	"candidate_k":     "Number of candidates, for search-retrieve-only. 0: the daemon's default.",
	"cluster":         "Take questions with the same tag TAG:X, or brain for the same brain, as alike, in intervals and tests; none: all as independent. Default: as the data say.",
	"concurrency":     "Number of questions, checks or requests at a time",
	"corpus":          "Documents: a folder of .md files, or a .jsonl file. Default: <dataset>.corpus next to the dataset. none: no documents, in bench synthetic ones.",
	"daemon_cmd":      "Command that starts the daemon, with {addr}, {port} or {home}, in conformance also {keys}. Overrides SVC_SDK_<TARGET>_CMD.",
	"dataset":         "File of questions in JSONL. In replay, import and audit also a benchmark: ${benchmark_titles}.",
	"default_brain":   "Id or slug of the brain of requests that name none. Default: the daemon's, which is the oldest that the key permits.",
	"endpoint":        "Use a running daemon. Its token is read from $SVC_TOKEN.",
	"errata":          "Known errors of a benchmark's gold: questions to leave out or to correct.",
	"format":          "Form of the output",
	"home":            "Folder for brains. Default: in mcp, evalctl in the user's data folder; in serve none, so that all data is kept in memory and lost on exit.",
	"html":            "Write a page, one HTML file. Each of several results gets a page of its own beside it.",
	"ids":             "Ask only the questions with these ids. @FILE: those in a file, one on each line.",
	"input_format":    "Format of the file that is read",
	"json":            "Print JSON instead of text.",
	"judge":           "Model that judges. Default: the one of --model.",
	"judge_prompts":   "Folder with instructions of your own for the judge: TYPE.txt for each type of question to replace.",
	"junit":           "Write the result as JUnit XML.",
	"labels":          "JSONL file of answers with labels. judge label continues it; judge estimate and plan take several, one for each labeller.",
	"llm_provider":    "Provider of models without one: openai, ollama or fake.",
	"margin":          "Largest loss of pass rate against --baseline that is accepted, such as 0.03.",
	"markdown":        "Write a summary in Markdown, smaller than 1 MiB.",
	"metrics":         "Write the figures in the text format of OpenMetrics, which Prometheus reads.",
	"min_per_stratum": "Minimum number of questions of each type, or other stratum",
	"mode":            "Retrieval mode, sent to the daemon unchanged: ${modes}.",
	"model":           "Model that answers, also in a daemon that is started. The provider is openai, ollama or fake; default: SVC_LLM_PROVIDER, else openai.",
	"notify":          "At the end, send a summary as JSON to a webhook, such as one of Slack or Mattermost. Other users can read a command line, but not $SVC_NOTIFY_URL.",
	"output":          "File or folder to write to.",
	"port":            "Port of the daemon that is started, and of several the first; others get the following ones. 0: free ports.",
	"queue":           "Queue in PostgreSQL, at which workers ask the questions. A password belongs in $SVC_QUEUE, PGPASSWORD or ~/.pgpass.",
	"primary":         "Measures that are tested first and by themselves: pass_rate, score, evidence_recall, recall, ndcg, reciprocal_rank, average_precision, total, first_token or felt (latencies). Others have verdicts where one of these differs. Default: pass_rate; for the scorer retrieval recall, by evidence if that scores.",
	"quiet":           "Print only errors on stderr.",
	"resume":          "Continue a stopped command; all other flags come from its journal or ledger.",
	"sample_size":     "Draw at most N questions, in the proportions of their types. 0: all.",
	"scorer":          "Scorer: ${scorer_help}, or cmd:COMMAND or a URL (a scorer of your own).",
	"seed":            "Seed for random draws: an order, a sample, synthetic documents, planted facts",
	"store":           "Storage engine: memory (without a home), fs, git, or the URL of a PostgreSQL database, which any number of daemons share. Default: fs with a home, otherwise memory.",
	"target":          "Target that is measured or checked, also --sdk: go, ts, py, or one of evalctl.yaml; NAME=URL is a running daemon, NAME='COMMAND' one that is started. In replay and bench, it may be repeated.",
	"timeout":         "Time limit for one question, all attempts included",
	"token":           "Bearer token for the daemon or server. Other users can read a command line, but not $SVC_TOKEN.",
	"top_k":           "Number of passages to retrieve, sent as top_k",

	"request_timeout": "Time limit of one request",
	"traces":          "Write a trace for each question as JSON Lines of OTLP, which the OpenTelemetry collector reads.",
	"wrong":           "Result of answers that are wrong on purpose, with verdicts of the judge that is audited. In judge check imported, in place of --labels; in audit also stored answers.",
}

// aboutFlags returns meanings, with the variables in them, as variables of tags.
func aboutFlags(vars kong.Vars) kong.Vars {
	var values []string
	for name, value := range vars {
		values = append(values, "${"+name+"}", value)
	}
	in := strings.NewReplacer(values...)
	about := maps.Clone(vars)
	for name, text := range meanings {
		about["about_"+name] = in.Replace(text)
	}
	return about
}
