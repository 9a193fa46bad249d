// Package aggregate computes the figures and the verdict of a run from the records of its
// questions. A Sum adds up records one at a time, in any order, and Fill sets every figure in a
// result that depends on them.
package aggregate

import (
	"maps"
	"slices"
	"strings"

	"evalctl/daemon/protocol"
	"evalctl/harness/result"
	"evalctl/internal/stats"
	"evalctl/scorer"
)

// Sum adds up records. It uses a few bytes per question. It is not safe for concurrent use.
type Sum struct {
	counts result.Counts
	// goldMissed is the number of answered questions with gold documents, none of them retrieved.
	// grounded is the number of passed questions by grounding.
	goldMissed int
	// goldAsked is the number of answered questions with gold documents, and goldLost how many of
	// goldMissed also did not pass.
	goldAsked, goldLost int
	grounded            [groundedByQuote + 1]int
	// loss attributes the failed questions as in a scenario with a reader.
	loss    result.Loss
	retried int
	leaks   result.LeakFigures
	// first counts the first tries; again of them were repeated.
	first  struct{ passed, total, again int }
	tags   map[string]*result.TagFigures
	checks map[string]*checkSum // by label
	panel  panelSum
	votes  voteSum
	// both counts the questions by pairs of tags; the second may name a cluster. The first is empty
	// for all questions.
	both  map[string]map[string]*attempts
	modes map[string]int
	// modesUnknown is the number of answers without a mode.
	modesUnknown int
	fusions      map[string]int
	models       map[string]int
	prompts      map[string]int
	reader       result.TokenSums
	// readers has the reader tokens by model, priced by prices if set.
	readers map[string]result.TokenSums
	prices  *ReaderPrices
	// cost is the cost of judging the records.
	cost result.Cost

	baselineSum *baselineSum // nil without a baseline

	topK      int
	retrieval *retrievalSum
	evidence  *retrievalSum
	repeats   repeatSum
	score     moments
	total     []float64 // the times to done of the answers, in milliseconds
	felt      []float64 // the same as the callers felt them, nil as long as none differs
	text      []float64 // the times to the first text of the streamed ones
	cached    int       // answers from evalctl's cache, which have none of these times
}

// New returns an empty Sum for records of answers with this top-k, at least 1.
func New(topK int) *Sum {
	return &Sum{
		tags: map[string]*result.TagFigures{}, both: map[string]map[string]*attempts{}, modes: map[string]int{},
		fusions: map[string]int{}, checks: map[string]*checkSum{},
		models: map[string]int{}, prompts: map[string]int{}, readers: map[string]result.TokenSums{},
		topK: topK, retrieval: newRetrievalSum(topK, false), evidence: newRetrievalSum(topK, true),
	}
}

// PriceReaders makes Fill price the reader tokens reported by the daemon.
func (s *Sum) PriceReaders(p ReaderPrices) { s.prices = &p }

// Finished returns the number of added records.
func (s *Sum) Finished() int { return s.counts.Finished() }

// Add adds one finished record.
func (s *Sum) Add(r result.Record) {
	s.counts.Add(r)
	s.baselineSum.add(r)
	clusters := clusterTags(r)
	s.addBoth("", clusters, r.Passed)
	for _, tag := range r.Tags {
		if s.tags[tag] == nil {
			s.tags[tag] = &result.TagFigures{}
		}
		s.tags[tag].Add(r)
		s.addBoth(tag, clusters, r.Passed)
	}
	s.addChecks(r)
	s.panel.add(&r)
	s.votes.add(&r)
	if r.Score != nil {
		s.score.add(*r.Score)
	}
	s.addFirst(r)
	addLeaks(&s.leaks, r)
	if r.Attempts > 1 {
		s.retried++
	}
	if len(r.ExpectedPaths) > 0 && r.Outcome != result.Errored && r.Outcome.Counts() {
		s.goldAsked++
		if r.GoldRank() == 0 {
			s.goldMissed++
			if !r.Passed {
				s.goldLost++
			}
		}
	}
	if r.Passed {
		s.grounded[groundingOf(&r)]++
	}
	addLoss(&s.loss, r.LostAt(result.AskBasic, s.topK)) // Fill knows the scenario
	addRecord(&s.cost, &r)
	s.retrieval.add(r)
	s.evidence.add(r)
	s.repeats.add(r)
	if r.Outcome.Answered() {
		s.addAnswer(r)
	}
}

// addFirst counts the first try at a question.
func (s *Sum) addFirst(r result.Record) {
	if !r.Outcome.Counts() {
		return
	}
	passed := r.Passed
	if r.FirstTry != nil {
		passed = r.FirstTry.Passed
		s.first.again++
	}
	s.first.total++
	if passed {
		s.first.passed++
	}
}

// firstTryRate returns the pass rate of the first tries, nil if nothing was tried again.
func (s *Sum) firstTryRate() *result.FirstTryRate {
	f := s.first
	if f.again == 0 {
		return nil
	}
	return &result.FirstTryRate{
		Passed: f.passed, Total: f.total, PassRate: float64(f.passed) / float64(f.total), TriedAgain: f.again,
	}
}

// addBoth counts a record for a tag together with each of its tags that may name a cluster.
func (s *Sum) addBoth(tag string, clusters []string, passed bool) {
	for _, other := range clusters {
		if other == tag {
			continue
		}
		if s.both[tag] == nil {
			s.both[tag] = map[string]*attempts{}
		}
		count(s.both[tag], other, passed)
	}
}

// clusterTags returns the tags of a record that may name a cluster, including its brain as a tag.
// It returns none if the record does not count, or has more such tags than a question in a dataset
// may have, since each is counted for each of its tags.
func clusterTags(r result.Record) []string {
	if !r.Outcome.Counts() {
		return nil
	}
	var out []string
	for _, tag := range r.Tags {
		if strings.Contains(tag, ":") {
			out = append(out, tag)
		}
	}
	if len(out) > result.MaxClusterTags {
		return nil
	}
	if brain, ok := result.ClusterOf(result.ByBrain, nil, r.Shared()); ok && !slices.Contains(out, brain) {
		out = append(out, brain)
	}
	return out
}

// clusterTag returns the tag that names a result's clusters, empty for none.
func clusterTag(res *result.Result) string {
	if tag := res.Settings.ClusterTag; tag != result.NoClusters {
		return tag
	}
	return ""
}

// addAnswer counts what only records of answers contain.
func (s *Sum) addAnswer(r result.Record) {
	if took := r.Took(); took != nil {
		s.addTime(&r, *took)
	}
	if first := r.FirstToken(); first != nil {
		s.text = append(s.text, *first)
	}
	if r.FromCache() {
		s.cached++
	}
	if r.EffectiveMode != "" {
		s.modes[r.EffectiveMode]++
	} else {
		s.modesUnknown++
	}
	if r.Fusion != "" {
		s.fusions[r.Fusion]++
	}
	if r.Model != "" {
		s.models[r.Model]++
	}
	if r.PromptSHA256 != "" {
		s.prompts[r.PromptSHA256]++
	}
	addTokens(&s.reader, r.Usage)
	addReader(s.readers, r.Model, r.Usage)
}

// addTime counts how long an answer took.
func (s *Sum) addTime(r *result.Record, took float64) {
	s.total = append(s.total, took)
	if r.FeltMS != nil && s.felt == nil {
		s.felt = slices.Clone(s.total[:len(s.total)-1]) // before, nobody waited
	}
	if r.FeltMS != nil || s.felt != nil {
		s.felt = append(s.felt, *r.Felt())
	}
}

// addReader adds a reader's usage for an answer, unless no model was called.
func addReader(readers map[string]result.TokenSums, model string, u *protocol.Usage) {
	if u == nil || u.InputTokens+u.OutputTokens == 0 {
		return
	}
	sums := readers[model]
	addTokens(&sums, u)
	readers[model] = sums
}

// Fill sets the figures of res. The cluster tag in res.Settings, the repeats in res.Identity,
// OwnQuestions and any judging cost outside the records must be set already. res shares maps with
// s, so no record may be added while res is in use.
func (s *Sum) Fill(res *result.Result) {
	n := s.counts
	res.Total, res.Passed, res.Counts = n.Total, n.Passed, n
	res.PassRate, res.MeanScore = n.PassRate(), s.meanScore()
	res.Repeats, res.Clustered = s.repeats.figures(res.Identity.Dataset.Repeats), s.clustered(res)
	res.MeanScoreInterval = nil
	independent := res.Identity.Dataset.Repeats <= 1 && clusterTag(res) == ""
	if i, ok := s.score.interval(n.Scored); ok && independent {
		res.MeanScoreInterval = &i
	}
	res.FirstTryRate = s.firstTryRate()
	res.Tags, res.EffectiveModes, res.ModesUnknown = s.tags, s.modes, s.modesUnknown
	res.Checks = s.checkFigures(res)
	cluster, clusters := s.clusters(res)
	res.Panel = s.panel.figures(res, n, cluster, clusters)
	res.Votes = nil
	if id := res.Identity.Imported; id != nil {
		res.Votes = s.votes.figures(id.VoteRule)
	}
	if res.Fusions = nil; len(s.fusions) > 0 {
		res.Fusions = s.fusions
	}
	res.ReaderModels, res.ReaderPrompts = s.models, s.prompts
	res.Latency, res.FirstDelta = Quantiles(s.total), Quantiles(s.text)
	res.Cached = s.cached
	if res.Felt = nil; s.felt != nil {
		felt := Quantiles(s.felt)
		res.Felt = &felt
	}
	res.Retried, res.GoldMissed = s.retried, s.goldMissed
	res.Suspect = res.Suspicions(s.goldAsked, s.goldAsked-s.goldLost)
	res.Grounded, res.GroundedIDsOnly = s.grounded[groundedByQuote], s.grounded[groundedByID]
	if res.Leaks = nil; s.leaks.Questions > 0 {
		res.Leaks = &s.leaks
	}
	res.ReaderUsage = s.reader
	if s.prices != nil {
		res.ReaderCost = newReaderCost(s.withOwn(res.OwnQuestions), *s.prices)
	}
	res.Retrieval, res.Evidence = s.retrieval.figures(res), s.evidence.figures(res)
	if res.Retrieval != nil && res.Evidence == nil {
		res.Retrieval.Cut = s.evidence.cut
	}
	res.Gold = goldOf(res)
	res.Cost = s.costOf(res.Cost)
	res.Interval = PassInterval(n)
	for tag, t := range s.tags {
		t.PassRate, t.Interval = t.Counts.PassRate(), s.tagInterval(res, tag, t.Counts)
	}
}

// goldOf returns the kind of gold for scoring retrieval.
func goldOf(res *result.Result) result.GoldKind {
	byDocument := res.Identity.Scorer == scorer.Retrieval{}.Name() && !res.Identity.Scenario.ScoresEvidence(res.Mapped != nil)
	switch {
	case res.Evidence != nil && !byDocument:
		return result.ByEvidence
	case res.Retrieval != nil:
		return res.DocumentsBy()
	}
	return ""
}

// withOwn returns the reader tokens including evalctl's own questions.
func (s *Sum) withOwn(questions []result.OwnQuestion) map[string]result.TokenSums {
	all := maps.Clone(s.readers)
	for _, q := range questions {
		addReader(all, q.Model, q.Usage)
	}
	return all
}

// costOf returns the cost of the records and of given.Unassigned, with the cap and the unpriced
// model of given.
func (s *Sum) costOf(given result.Cost) result.Cost {
	c := s.cost
	c.Spending, c.UnpricedModel, c.Unassigned = given.Spending, given.UnpricedModel, given.Unassigned
	c.PricesDate = given.PricesDate
	addUnassigned(&c)
	return c
}

// PassInterval returns the Wilson interval of a pass rate, nil without questions.
func PassInterval(n result.Counts) *result.Interval {
	if n.Total == 0 {
		return nil
	}
	lo, hi := stats.Wilson(n.Passed, n.Total, confidence)
	return &result.Interval{Method: "wilson", Confidence: confidence, Low: lo, High: hi}
}

// Judge sets the gate of res to the verdict on the run. Call Fill first, and set Stopped, Planned,
// Clustered, Settings and the identity's scenario, on which the verdict depends.
func (s *Sum) Judge(res *result.Result) {
	res.Gate = newGate(res, s.loss, s.tagGates(res), s.baselineSum.gate(clusterTag(res)))
}

// JudgeGiven is Judge with an earlier comparison whose baseline file is not available. The lists of
// questions, the margin and the pairs on which both runs agree are taken from base, which is not
// modified; the rest is computed.
func (s *Sum) JudgeGiven(res *result.Result, base *result.BaselineGate) {
	g := *base
	g.OnlyRun, g.OnlyBaseline = len(g.Fixed), len(g.Broke)
	judgeBaseline(&g, nil)
	if base.Clusters != nil { // the pairs on which the runs agree are of clusters that are not known
		g.Interval, g.MarginP, g.Verdict, g.Settles = base.Interval, base.MarginP, base.Verdict, base.Settles
	}
	if was := base.Settles; was != nil && g.Settles != nil && settledBefore(&g, *was) {
		g.Settles = was
	}
	res.Gate = newGate(res, s.loss, s.tagGates(res), &g)
}

// meanScore returns the mean over the scored questions, nil if there are none.
func (s *Sum) meanScore() *float64 {
	if s.counts.Scored == 0 {
		return nil
	}
	mean := s.score.mean(s.counts.Scored)
	return &mean
}
