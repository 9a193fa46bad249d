package verify

import (
	"context"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
	"evalctl/harness/leak"
	"evalctl/harness/result"
	"evalctl/scorer"
)

// checker checks records. It is safe for concurrent use.
type checker struct {
	topK int
	// textless is set for the cells of a sweep, which omit the texts of chunks.
	textless bool
	// scorer scores answers again if this needs no model, else nil.
	scorer scorer.Scorer
	// checks applies the questions' checks again, nil if the run did not.
	checks *scorer.Checks
	// repeats is how many times each question was asked, 0 for once.
	repeats int
	replay  bool
	// recipes are the panel's recipes, nil for one judge.
	recipes []result.Recipe
	// unretrieved is set if the target does not report the passages behind answers.
	unretrieved bool
	// imported is set for stored answers, which may lack retrieval.
	imported bool
	// cachedTimed is set for a file of an earlier version, which counts the times of answers
	// from the cache.
	cachedTimed bool
	// byText is set if documents were identified by the text of passages.
	byText bool
	// corpus is set if the daemon's paths were resolved to a corpus, which is not available here.
	corpus bool
	// brains are the brains named in questions: all of the run's if it had several.
	brains []string
	// rule is the voting rule for imported answers with several judgements.
	rule result.VoteRule
}

func newChecker(res *result.Result) *checker {
	id := res.Identity
	c := &checker{
		topK: max(1, id.TopK), repeats: id.Dataset.Repeats, replay: res.Replay != nil, recipes: id.Panel,
		unretrieved: res.Mapped.Unretrieved(), byText: res.Mapped != nil && res.Mapped.ByText > 0,
		corpus: id.Corpus != nil, brains: []string{""}, imported: id.Imported != nil,
		cachedTimed: res.Cached == 0,
	}
	if len(res.Brains) > 1 {
		c.brains = nil
		for _, b := range res.Brains {
			c.brains = append(c.brains, b.ID)
		}
	}
	if id.Imported != nil {
		c.rule = id.Imported.VoteRule
	}
	caseMatters := id.ExactCase != nil && *id.ExactCase
	if kind, err := scorer.Find(id.Scorer); err == nil && kind.Name == (scorer.Checks{}).Name() {
		c.checks = &scorer.Checks{Case: caseMatters}
	} else if err == nil && kind.Offline != nil && kind.Prompts == nil {
		c.scorer = kind.Offline(scorer.Options{TopK: c.topK, Evidence: res.Gold == result.ByEvidence, ExactCase: caseMatters})
	}
	return c
}

// record checks the values that follow from other parts of the record. The schema was checked
// before.
func (c *checker) record(r *result.Record, add reporter) {
	if r.Score != nil {
		c.score(r, add)
	}
	if answered := r.Outcome == result.Scored || r.Outcome == result.Unscored; answered && c.checks != nil {
		c.applied(r, add)
	}
	add.must(r.SearchMS == nil || *r.SearchMS <= r.LatencyMS, ".search_ms", r.SearchMS,
		"the search is part of latency_ms, which is less: %v", r.LatencyMS)
	add.must(!r.Untimed || r.LatencyMS == 0, ".latency_ms", r.LatencyMS, "the question is marked as untimed")
	add.must(r.FeltMS == nil || *r.FeltMS > r.LatencyMS, ".felt_ms", r.FeltMS,
		"it includes latency_ms and waits, and is not longer than %v", r.LatencyMS)
	add.must(r.Repeat >= min(1, c.repeats) && r.Repeat <= c.repeats, ".repeat", r.Repeat,
		"each question was asked %v times", max(1, c.repeats))
	for i, e := range r.Timeline {
		if i > 0 && e.AtMS < r.Timeline[i-1].AtMS || e.N > 0 && e.LastMS < e.AtMS {
			add(Difference{Path: ".timeline[" + text(i) + "]", InFile: text(e), Problem: "it is earlier than what it follows"})
		}
	}
	add.must(slices.Contains(c.brains, r.Brain), ".brain", r.Brain, "the run did not ask this brain")
	if want := r.JudgeVerdict; c.replay && want != "" {
		c.verdict(r, add)
	}
	c.panel(r, add)
	c.votes(r, add)
	c.retrieval(r, add)
	c.evidence(r, add)
	c.lost(r, add)
	c.leaks(r, add)
}

// leaks checks that the forbidden texts found in the record are recorded as having come back. Texts
// that came back elsewhere, or of deleted documents, are not in the file.
func (c *checker) leaks(r *result.Record, add reporter) {
	found := leak.NewFinder(r.Forbidden)
	if r.Outcome == result.Scored || r.Outcome == result.Unscored {
		found.LookAnswer(r.Answer, r.Retrieved, r.Citations)
	}
	in := make(map[result.Leak]bool, len(r.Leaks))
	for _, l := range r.Leaks {
		in[l] = true
	}
	for _, l := range found.Found {
		if !in[l] {
			add(Difference{Path: ".leaks", Problem: "it lacks a forbidden text: " + l.String()})
		}
	}
}

// score checks a score and its verdict. If no model is needed, the answer is scored again.
func (c *checker) score(r *result.Record, add reporter) {
	v := scorer.Verdict{Scored: true, Score: *r.Score}
	if c.scorer != nil {
		again, err := c.scorer.Score(context.Background(), r.Item())
		again = r.Conditioned(again)
		if err != nil {
			add(Difference{Path: ".score", InFile: text(*r.Score), Problem: "it cannot be computed: " + err.Error()})
		} else if !again.Scored || !near(again.Score, *r.Score) {
			add.differ(".score", *r.Score, again.Score)
			v = again
		}
	}
	if r.Passed != v.Passed() {
		add.differ(".passed", r.Passed, v.Passed())
	}
}

// applied checks the outcomes of a question's checks and the resulting score. The judge's outcomes
// are taken as recorded.
func (c *checker) applied(r *result.Record, add reporter) {
	item := r.Item()
	if err := c.checks.Check(item); err != nil {
		add(Difference{Path: ".checks", Problem: "they cannot be applied: " + err.Error()})
		return
	}
	again := c.checks.Recompute(item, checkResults(r))
	for i, want := range again.Checks {
		path := ".checks[" + text(i) + "].holds"
		switch got := r.Checks[i].Holds; {
		case got == nil && want.Scored:
			add.differ(path, nil, want.Holds)
		case got != nil && *got != want.Holds:
			add.differ(path, *got, want.Holds)
		}
	}
	if again.Scored != (r.Score != nil) {
		add(Difference{Path: ".score", InFile: text(r.Score), Problem: "usable verdicts of all checks: " + text(again.Scored)})
	} else if r.Score != nil && !near(again.Score, *r.Score) {
		add.differ(".score", *r.Score, again.Score)
	}
}

// verdict checks a replay question's verdict against its outcome.
func (c *checker) verdict(r *result.Record, add reporter) {
	var want []result.JudgeVerdict
	switch {
	case r.Outcome == result.Errored:
		want = []result.JudgeVerdict{result.VerdictError}
	case r.Outcome == result.Unscored:
		want = []result.JudgeVerdict{result.VerdictUnscored}
	case r.Passed:
		want = []result.JudgeVerdict{result.Correct, result.AbstainCorrect}
	case r.Outcome == result.Scored:
		want = []result.JudgeVerdict{result.Incorrect, result.AbstainIncorrect}
	}
	add.must(slices.Contains(want, r.JudgeVerdict), ".judge_verdict", r.JudgeVerdict,
		"the outcome is %v and passed is %v", string(r.Outcome), r.Passed)
	lost := !r.Passed && r.Outcome.Counts()
	add.must(lost == (r.Cause != ""), ".loss", r.Cause, "passed is %v", r.Passed)
}

// lost checks the recorded loss of a question, and the depth at which its gold was looked for,
// against the ranks of the gold.
func (c *checker) lost(r *result.Record, add reporter) {
	missing := r.Retrieval != nil && slices.ContainsFunc(r.Retrieval.Gold, func(g scorer.Gold) bool { return g.Rank < 1 || g.Rank > c.topK })
	deep := 0
	if r.DeepRank != nil {
		deep = *r.DeepRank
		add.must(missing, ".deep_rank", deep, "no gold is missing from the top-k")
		add.must(!missing || deep <= protocol.MaxSearchTopK, ".deep_rank", deep, "no search is deeper than %v", protocol.MaxSearchTopK)
	}
	switch r.Cause {
	case result.CauseRankBurial:
		add.must(deep > 0, ".loss", r.Cause, "no gold was found below the top-k")
	case result.CauseMissRetrieval:
		add.must((missing || r.LacksEvidence()) && deep <= 0, ".loss", r.Cause, "missing gold: %v, found at rank %v", missing, deep)
	case result.CauseReader:
		add.must(!missing && !r.LacksEvidence(), ".loss", r.Cause, "gold is missing from the top-k")
	}
}

// retrieval checks the comparison of the retrieval with the gold.
func (c *checker) retrieval(r *result.Record, add reporter) {
	q := r.Retrieval
	if q == nil {
		if len(r.ExpectedPaths) > 0 && !c.unretrieved && r.Outcome != result.Errored && r.Outcome.Counts() {
			add(Difference{Path: ".retrieval", Problem: "it is missing, and the question has expected_paths"})
		}
		return
	}
	gold := result.Gold(r.ExpectedPaths, r.ExpectedGrades)
	same := slices.EqualFunc(gold, q.Gold, func(a, b scorer.Gold) bool { return a.Path == b.Path && a.Gain == b.Gain })
	if !same {
		add.differ(".retrieval.gold", q.Gold, gold)
		return
	}
	for _, m := range []struct {
		name       string
		file, want float64
	}{
		{"recall", q.Recall, q.Gold.RecallAt(c.topK)}, {"ndcg", q.NDCG, q.Gold.NDCGAt(c.topK)},
		{"reciprocal_rank", q.ReciprocalRank, q.Gold.ReciprocalRank()},
		{"average_precision", q.AveragePrecision, q.Gold.AveragePrecision()},
	} {
		if !near(m.file, m.want) {
			add.differ(".retrieval."+m.name, m.file, m.want)
		}
	}
	places := map[int]bool{}
	for i, g := range q.Gold {
		if g.Rank > 0 && (g.Rank > q.Documents || places[g.Rank]) {
			add(Difference{Path: ".retrieval.gold[" + text(i) + "].rank", InFile: text(g.Rank),
				Problem: text(q.Documents) + " documents were retrieved, each at one rank"})
		}
		places[g.Rank] = true
	}
	if !c.replay {
		c.ranks(r, gold, add)
	}
}

// evidence looks for the evidence in the chunks again, and measures their texts.
func (c *checker) evidence(r *result.Record, add reporter) {
	if r.Evidence == nil && r.Returned == nil {
		missing := len(r.ExpectedEvidence) > 0 && !c.unretrieved && !r.CutPassages(c.topK) && (!c.imported || len(r.Retrieved) > 0) && r.Outcome != result.Errored && r.Outcome.Counts()
		add.must(!missing || c.textless || r.Retrieval != nil, ".evidence", nil, "it is missing, and the question has expected_evidence")
		return
	}
	again := *r
	if again.CompareEvidence(c.topK); c.textless {
		again.Evidence = r.Evidence
	}
	switch file, want := r.Evidence, again.Evidence; {
	case (file == nil) != (want == nil), file != nil && !slices.Equal(file.Ranks, want.Ranks):
		add.differ(".evidence", file, want)
	case file != nil && !near(file.Recall, file.Ranking().RecallAt(c.topK)):
		add.differ(".evidence.recall", file.Recall, file.Ranking().RecallAt(c.topK))
	}
	if size := result.SizeOf(r.Retrieved, c.topK); r.Returned != nil && *r.Returned != size && !c.textless {
		add.differ(".returned", r.Returned, size)
	}
}

// ranks checks the ranks of the gold against the retrieved paths. With a corpus, the resolution of
// paths is unknown, and only gold that must or cannot be there is reported.
func (c *checker) ranks(r *result.Record, gold scorer.Ranking, add reporter) {
	if c.byText {
		return // the texts of the corpus are not in the file
	}
	q, chunks := r.Retrieval, r.Retrieved[:min(c.topK, len(r.Retrieved))]
	want := result.CompareWithGold(gold, r.Retrieved, c.topK, func(c result.Chunk) []string {
		return (*dataset.Paths)(nil).Documents(c, gold)
	})
	if !c.corpus && q.Documents != want.Documents {
		add.differ(".retrieval.documents", q.Documents, want.Documents)
	}
	repeated := slices.ContainsFunc(chunks, func(c result.Chunk) bool { return len(c.Duplicates) > 0 })
	named := namesOf(chunks)
	for i, g := range q.Gold {
		path := ".retrieval.gold[" + text(i) + "].rank"
		switch rank := want.Gold[i].Rank; {
		case !c.corpus && g.Rank != rank:
			add.differ(path, g.Rank, rank)
		case c.corpus && !repeated && g.Rank == 0 && rank > 0:
			add(Difference{Path: path, InFile: "0", Problem: text(g.Path) + " is among the retrieved paths"})
		case c.corpus && g.Rank > 0 && !named[strings.TrimPrefix(g.Path, result.SeedRoot)]:
			add(Difference{Path: path, InFile: text(g.Rank), Problem: text(g.Path) + " is not among the retrieved paths"})
		}
	}
}

// namesOf returns the documents of a corpus that chunks may come from, since daemons may put
// documents into folders of their own.
func namesOf(chunks []result.Chunk) map[string]bool {
	names := map[string]bool{}
	for _, c := range chunks {
		for _, name := range append(slices.Clone(c.Duplicates), c.Path, c.DocumentID) {
			for more := true; more; _, name, more = strings.Cut(name, "/") {
				names[name] = true
			}
		}
	}
	return names
}
