package key

import (
	"slices"

	"evalctl/harness/result"
)

// Short names of the roles for the table.
const (
	equal, named, shown, no = Equal, Named, Compared, Ignored
)

// The roles of most settings of a bench: settings of its work, and settings that only say where
// data came from or which figures are required.
var (
	//           compare arms board gate trend resume bench
	work  = roles{no, no, no, no, equal, no, equal}
	label = roles{no, no, no, no, no, no, no}
)

// table has every setting.
var table = slices.Concat(ofResults,
	ofBenches(work, "plan.mix", "plan.arrival", "plan.concurrency", "plan.max_in_flight", "plan.stages", "plan.rounds",
		"plan.block_seconds", "plan.lead_seconds", "plan.restart", "plan.timeout_seconds", "plan.seed", "plan.top_k", "plan.mode",
		"plan.corpus_sha256", "plan.queries_sha256", "plan.sizes", "plan.brains", "plan.chaos", "client"),
	ofBenches(roles{no, no, no, no, equal, no, no}, "plan.find_limit"),
	ofBenches(label, "plan.objectives", "plan.fail_over", "plan.corpus", "plan.queries"),
)

// ofBenches returns settings of benches with equal roles, by their leaves.
func ofBenches(r roles, leaves ...string) (settings []Setting) {
	for _, leaf := range leaves {
		settings = append(settings, Setting{Name: leaf, leaves: leaf, scope: ofBench, roles: r})
	}
	return settings
}

// ofResults are the settings of results, in report order.
var ofResults = []Setting{
	//                                                         compare arms board gate trend resume bench
	{Name: "dataset", leaves: "dataset.sha256", asked: true, value: of(benchmark),
		roles: roles{named, named, named, named, equal, equal, no}},
	{Name: "questions", asked: true, value: questions,
		roles: roles{named, named, named, no, no, no, no}},
	{Name: "selection", within: "dataset", value: of(func(r *result.Result) string { return r.Identity.Dataset.Selection.String() }),
		roles: roles{shown, shown, shown, no, no, no, no}},
	{Name: "complete", within: "dataset", asked: true, only: "yes", value: of(complete),
		Note:  "a run that stopped has not asked all of its questions",
		roles: roles{named, named, named, equal, no, no, no}},
	{Name: "gold", within: "dataset", value: asked(func(f *File) string { return f.Asked.Gold }), Note: "the same questions were compared with other answers",
		roles: roles{named, named, named, no, no, no, no}},
	{Name: "gold_documents", within: "dataset", scope: ofMemory, value: asked(func(f *File) string { return f.Asked.Documents }),
		Note:  "the same questions were compared with other documents",
		roles: roles{named, named, named, no, no, no, no}},
	{Name: "question_date", within: "dataset", leaves: "replay.actor.question_date", value: asked(dates),
		roles: roles{named, named, named, shown, shown, equal, no}},
	{Name: "scenario", scope: ofMemory, leaves: "scenario",
		roles: roles{named, named, named, named, equal, equal, no}},
	{Name: "mode", scope: ofMemory, leaves: "mode",
		roles: roles{named, named, named, shown, shown, equal, no}},
	{Name: "effective_modes", scope: ofMemory, value: of(effectiveModes),
		roles: roles{named, named, named, shown, shown, no, no}},
	{Name: "fusions", scope: ofMemory, value: of(fusions),
		roles: roles{named, named, named, shown, shown, no, no}},
	{Name: "top_k", scope: ofMemory, leaves: "top_k",
		roles: roles{named, named, named, named, shown, equal, no}},
	{Name: "candidate_k", scope: ofMemory, leaves: "candidate_k",
		roles: roles{named, named, named, shown, shown, equal, no}},
	{Name: "rerank_top_n", scope: ofMemory, leaves: "rerank_top_n",
		roles: roles{named, named, named, shown, shown, equal, no}},
	{Name: "max_per_document", scope: ofMemory, leaves: "max_per_document", value: of(maxPerDocument),
		roles: roles{named, named, named, shown, shown, equal, no}},
	{Name: "depth", scope: ofMemory, value: of(depth), Note: "retrieval measures count passages that were not sent as not found",
		roles: roles{shown, shown, shown, no, no, no, no}},
	{Name: "scorer", leaves: "scorer imported.formats", value: of(scoredBy), Note: "rescore the results by one scorer",
		roles: roles{named, named, named, named, equal, equal, no}},
	{Name: "gold_kind", within: "scorer", scope: ofMemory, value: of(goldKind), Note: "gold was looked for in another way",
		roles: roles{equal, equal, equal, equal, equal, no, no}},
	{Name: "external_scorer", within: "scorer", leaves: "external_scorer.", value: of(external),
		roles: roles{named, named, named, named, equal, equal, no}},
	{Name: "exact_case", within: "scorer", leaves: "exact_case", value: of(exactCase),
		roles: roles{named, named, named, named, equal, equal, no}},
	{Name: "judge", within: "scorer", value: of(judge),
		leaves: "judge.provider judge.base_url judge.model judge.temperature judge.options imported.judge_id imported.judge_models",
		roles:  roles{named, named, named, named, equal, equal, no}},
	{Name: "judge_panel", within: "scorer", leaves: "judge_panel", value: of(panel),
		Note:  "differences are compared under the recipes that both have",
		roles: roles{shown, shown, shown, shown, shown, equal, no}},
	{Name: "judge_prompt", within: "judge", leaves: "judge.prompt_version judge.prompt_sha256 imported.judge_prompt_sha256", value: of(judgePrompt),
		roles: roles{named, named, named, named, equal, equal, no}},
	{Name: "judge_votes", within: "judge", leaves: "imported.votes", value: of(votes),
		roles: roles{named, named, named, named, equal, equal, no}},
	{Name: "reader", value: of(reader),
		leaves: "reader. replay.actor.provider replay.actor.base_url replay.actor.model imported.reader",
		roles:  roles{named, named, named, shown, shown, equal, no}},
	{Name: "reader_prompt", scope: ofRun, leaves: "replay.actor.prompt_version replay.actor.prompt_sha256", value: of(readerPrompt),
		roles: roles{named, named, named, shown, shown, equal, no}},
	{Name: "corpus", scope: ofRun, leaves: "corpus.", value: of(corpus),
		roles: roles{named, named, named, named, shown, equal, no}},
	{Name: "ingest", scope: ofMemory, leaves: "replay.ingest_mode replay.shared_brain", value: of(ingest),
		roles: roles{named, named, named, equal, shown, equal, no}},
	{Name: "isolated", scope: ofMemory, leaves: "isolated", value: of(isolated),
		roles: roles{named, named, named, named, shown, equal, no}},
	{Name: "repeats", scope: ofRun, leaves: "dataset.repeats", Note: "means over the repeats are compared",
		value: number(func(r *result.Result) int { return max(1, r.Identity.Dataset.Repeats) }),
		roles: roles{shown, shown, shown, equal, equal, equal, no}},
	{Name: "concurrency", scope: ofRun, Note: "latencies depend on it", value: number(func(r *result.Result) int { return r.Settings.Concurrency }),
		roles: roles{shown, shown, shown, no, no, no, no}},
	{Name: "machine", scope: ofRun, leaves: "tool.os tool.arch tool.cpus", Note: "latencies depend on it", value: of(machine),
		roles: roles{shown, shown, shown, no, no, no, no}},
	{Name: "query", scope: ofMemory, Note: "the figures depend on how questions are phrased", value: of(query),
		roles: roles{shown, shown, shown, no, no, no, no}},
	{Name: "daemon", leaves: "daemon.", Note: "expected", value: of(daemonBuild),
		roles: roles{shown, shown, shown, shown, shown, equal, no}},
	{Name: "tool", leaves: "tool.", value: of(tool),
		roles: roles{shown, shown, shown, no, no, no, no}},

	// Settings never shown in a comparison: they follow from rows above or matter to one purpose
	// only.
	{Name: "schema_version", leaves: "schema_version",
		roles: roles{no, no, no, equal, no, equal, no}},
	{Name: "kind", value: of(kind),
		roles: roles{no, no, no, equal, equal, no, no}},
	{Name: "name", leaves: "sdk",
		roles: roles{no, no, no, shown, equal, equal, no}},
	{Name: "brain", leaves: "brain",
		roles: roles{no, no, no, shown, shown, equal, no}},
	{Name: "brain_tag", leaves: "brain_tag",
		roles: roles{no, no, no, named, shown, equal, no}},
	{Name: "dialect", leaves: "dialect",
		roles: roles{no, no, no, shown, shown, equal, no}},
	{Name: "sample", leaves: "dataset.selected dataset.selection.sha256 replay.sample",
		roles: roles{no, no, no, shown, equal, equal, no}},
	{Name: "order", leaves: "dataset.selection.shuffle_seed",
		roles: roles{no, no, no, shown, shown, equal, no}},
	{Name: "style", leaves: "replay.actor.style replay.actor.context_tokens",
		roles: roles{no, no, no, equal, equal, equal, no}},
	{Name: "errata", leaves: "replay.errata_sha256 imported.errata_sha256",
		roles: roles{no, no, no, equal, equal, equal, no}},
	{Name: "option_seed", leaves: "replay.option_seed imported.option_seed",
		roles: roles{no, no, no, equal, shown, equal, no}},
	{Name: "rescored", leaves: "rescored.",
		roles: roles{no, no, no, shown, shown, equal, no}},
	{Name: "imported", leaves: "imported.",
		roles: roles{no, no, no, shown, shown, equal, no}},
	{Name: "places", // where things were, and how the same questions were described
		leaves: "dataset.path dataset.tags. corpus.path external_scorer.endpoint dataset.selection. rescored.measured_at",
		roles:  label},
}
