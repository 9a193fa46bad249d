package verify

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/internal/llm"
)

// given are the keys that do not follow from the questions, with descriptions.
var given = []struct{ path, what string }{
	{".identity", "the identity of the experiment"},
	{".settings", "the settings, such as the floor"},
	{".started_at", "times"},
	{".finished_at", "times"},
	{".stopped", "why the run stopped"},
	{".resumed", "how many questions came from a journal"},
	{".brains[].id", "the brains and the sizes of their corpora"},
	{".brains[].documents", "the brains and the sizes of their corpora"},
	{".own_questions", "the questions of evalctl's own before the run"},
	{".admission", "the observations of the target besides the questions"},
	{".embeddings", "what the daemon embedded, and at which price"},
	{".imported", "how imported answers were read from their files"},
	{".mapped", "the observations of a service with a mapping"},
	{".escaped_processes", "processes that the daemon left behind"},
	{".reader_cost.prices_date", "the list prices of the reader's tokens"},
	{".cost.prices_date", "the day of the judge's price"},
	{".cost.cap_usd", "the cap, and whether the judge has a price"},
	{".cost.unpriced_model", "the cap, and whether the judge has a price"},
	{".cost.model_requests", "the daemon's requests to its models"},
	{".cost.unassigned", "the judge's requests that belong to no question"},
	{".cost_accounting", "what a replay cost besides judging, and what of it may not have been charged"},
	{".cost_accounting.tokens_by_model", "the requests and tokens of each model"},
	{".cost_accounting.cache_hits", "how many requests looked for a cached reply"},
	{".cost_accounting.cache_misses", "how many requests looked for a cached reply"},
	{".replay", "the benchmark, its sample, the ingest, the actor, the observations of the daemon, and the controls"},
}

// derived are keys below given ones that do follow.
var derived = []string{
	".identity.dataset.tags", ".identity.dataset.selection.sha256", ".cost_accounting.total_usd",
	".cost_accounting.list_cost.usd", ".embeddings.usd",
	".cost_accounting.usd_per_correct", ".cost_accounting.usd_per_correct_interval",
	".replay.arm", ".replay.strata", ".replay.weighted_pass_rate", ".replay.macro_pass_rate",
	".replay.judge_verdicts", ".replay.losses", ".replay.answered_at_first_attempt",
	".replay.passed_at_first_attempt", ".replay.errata.original", ".replay.errata.original_pass_rate",
	".replay.errata.original_pass_rate_interval", ".replay.together.in_flight",
	".replay.latency_alone.latency", ".replay.latency_alone.shared", ".replay.latency_alone.asked[].shared_ms",
	".replay.controls.right_passed", ".replay.controls.wrong_failed", ".replay.controls.unscored",
	".replay.controls.false_positive_rate", ".replay.controls.false_negative_rate",
}

// follows reports whether a value in the head follows from the questions.
func follows(path string) bool {
	under := func(parent string) bool {
		rest, ok := strings.CutPrefix(path, parent)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	is := func(key string) bool {
		list, field, inList := strings.Cut(key, "[]")
		return !inList && under(key) || inList && strings.HasPrefix(path, list+"[") && strings.HasSuffix(path, field)
	}
	if slices.ContainsFunc(derived, is) {
		return true
	}
	for _, g := range given {
		if is(g.path) {
			return false
		}
	}
	return true
}

// pairFigures are the keys of a baseline comparison that follow from its other keys.
var pairFigures = []string{
	"only_run", "only_baseline", "clusters", "difference", "interval", "mcnemar_exact_p", "margin_p", "verdict", "settles",
}

// has reports whether a result may have a given key.
func has(res *result.Result, path string) bool {
	switch path {
	case ".own_questions":
		return len(res.OwnQuestions) > 0
	case ".admission":
		return res.Admission != nil
	case ".imported":
		return res.Imported != nil
	case ".mapped":
		return res.Mapped != nil
	case ".cost.model_requests":
		return res.Cost.ModelRequests != nil
	case ".escaped_processes":
		return len(res.Escaped) > 0
	case ".reader_cost.prices_date":
		return res.ReaderCost != nil
	}
	return res.Replay != nil || path != ".replay" && !strings.HasPrefix(path, ".cost_accounting")
}

// notChecked lists the values that do not follow from a result's questions.
func (f *figures) notChecked(res *result.Result) []string {
	var out []string
	for _, g := range given {
		if has(res, g.path) && !slices.Contains(out, g.what) {
			out = append(out, g.what)
		}
	}
	if res.Mapped != nil && res.Mapped.ByText > 0 {
		out = append(out, "the ranks of gold that was found by its text")
	}
	if res.Retrieval != nil {
		out = append(out, "warnings about the dataset and the corpus")
	}
	if f.given(res) {
		out = append(out, fmt.Sprintf("which questions the baseline passed: %s cannot be read, or is not the file of that SHA-256",
			text(res.Gate.Baseline.Path)))
	}
	return out
}

// given reports whether the baseline comparison cannot be repeated.
func (f *figures) given(res *result.Result) bool {
	return f.baseline == nil && res.Gate != nil && res.Gate.Baseline != nil
}

// follows reports whether a value in the head follows from the available data.
func (f *figures) follows(path string) bool {
	field, inBaseline := strings.CutPrefix(path, ".gate.baseline.")
	if f.baseline != nil || !inBaseline {
		return follows(path)
	}
	field, _, _ = strings.Cut(field, ".")
	return slices.Contains(pairFigures, field)
}

// compare compares a file's head with the recomputed one.
func (r *Report) compare(members map[string]json.RawMessage, want *result.Result, follows func(string) bool) error {
	data, err := json.Marshal(want)
	if err != nil {
		return fmt.Errorf("encode the recomputed figures of %s: %w", r.Path, err)
	}
	recomputed, err := decode(data)
	if err != nil {
		return err
	}
	file := map[string]any{}
	for key, raw := range members {
		if file[key], err = decode(raw); err != nil {
			return fmt.Errorf("read %s: %s: %w", r.Path, key, err)
		}
	}
	delete(file, "questions") // which are checked one by one
	walk("", file, recomputed, func(path string, file, want any, same bool) {
		if !follows(path) {
			return
		}
		if r.Figures++; !same {
			r.add(Difference{Path: path, InFile: leaf(file), Recomputed: leaf(want)})
		}
	})
	return nil
}

// leaf returns a leaf as JSON, empty if missing.
func leaf(v any) string {
	if _, ok := v.(missing); ok {
		return ""
	}
	return text(v)
}

// recompute returns the result that follows from the questions and the given values.
func (f *figures) recompute(res *result.Result, rep *Report) *result.Result {
	id := res.Identity
	whole := res.Stopped == ""
	want := &result.Result{
		SDK: id.SDK, ScorerName: id.Scorer, Brain: id.Brain, Brains: slices.Clone(res.Brains),
		StartedAt: res.StartedAt, FinishedAt: res.FinishedAt, Stopped: res.Stopped,
		Resumed: res.Resumed, Planned: id.Dataset.Selected, Identity: id, Settings: res.Settings,
		OwnQuestions: res.OwnQuestions, Admission: res.Admission, Mapped: res.Mapped, Imported: res.Imported, Escaped: res.Escaped,
		Cost: result.Cost{
			Spending: res.Cost.Spending, UnpricedModel: res.Cost.UnpricedModel, PricesDate: res.Cost.PricesDate, Unassigned: res.Cost.Unassigned,
		},
	}
	if whole {
		f.asked(want)
	}
	if whole && f.number != want.Planned || f.number > want.Planned {
		rep.add(Difference{Path: ".questions", Problem: fmt.Sprintf(
			"it has %d questions, and the run planned %d", f.number, want.Planned)})
	}
	if e := res.Embeddings; e != nil {
		recomputed := *e
		recomputed.USD = e.Cost()
		want.Embeddings = &recomputed
	}
	if res.ReaderCost != nil {
		f.sum.PriceReaders(aggregate.PricesOf(res.ReaderCost))
	}
	f.sum.Fill(want)
	if want.Retrieval != nil {
		want.Retrieval.Warnings = append(aggregate.DatasetWarnings(res.Retrieval), want.Retrieval.Warnings...)
	}
	if res.Replay != nil {
		f.fillReplay(want, res)
	}
	f.costs(want, res, rep)
	if f.sum.Judge(want); f.given(res) {
		f.sum.JudgeGiven(want, res.Gate.Baseline)
	}
	return want
}

// asked sets the values that follow from the questions only if all were asked.
func (f *figures) asked(want *result.Result) {
	id := &want.Identity.Dataset
	id.Tags = map[string]int{}
	for tag, n := range f.tags {
		id.Tags[tag] = n / max(1, id.Repeats)
	}
	if id.Selection != nil {
		selection := *id.Selection
		selection.SHA256 = f.ids()
		id.Selection = &selection
	}
	for i := range want.Brains {
		b := &want.Brains[i]
		if b.Questions = f.brains[b.ID]; len(want.Brains) == 1 {
			b.Questions = f.number
		}
		b.Questions /= max(1, id.Repeats)
	}
}

// fillReplay sets the replay's figures.
func (f *figures) fillReplay(want, res *result.Result) {
	r := *res.Replay
	r.Arm = res.Identity.SDK
	r.Strata, r.Weighted, r.Macro, r.Verdicts, r.Losses = nil, nil, nil, nil, nil
	if r.Errata != nil {
		e := *r.Errata
		e.Original, e.OriginalPassRate, e.OriginalInterval = result.Counts{}, nil, nil
		r.Errata = &e
	}
	if r.Alone != nil {
		a := *r.Alone
		a.Asked, a.Latency, a.Shared = slices.Clone(a.Asked), result.Quantiles{}, result.Quantiles{}
		r.Alone = &a
	}
	if r.Together != nil {
		t := *r.Together
		t.InFlight = len(t.Arms) * t.Concurrency
		r.Together = &t
	}
	if r.Controls != nil {
		c := *r.Controls
		c.Count()
		r.Controls = &c
	}
	want.Replay = &r
	f.replay.Fill(want)
	if !r.Sample.Represents() && res.Replay.Weighted != nil {
		r.Weighted = f.replay.Estimate(want) // earlier versions estimated from listed questions too
	}
	if res.CostAccounting == nil {
		return
	}
	c := *res.CostAccounting
	c.TotalUSD = c.IngestUSD.Plus(c.ActorUSD).Plus(c.JudgeUSD).Plus(c.EmbedUSD)
	if c.List != nil {
		c.List = new(*c.List)
		c.List.USD = c.ListUSD()
	}
	c.PerCorrectUSD, c.PerCorrectInterval = nil, nil
	aggregate.PerCorrect(&c, want.Counts, want.Believed())
	want.CostAccounting = &c
}

// costs compares the cost of the questions and other requests with the recorded spending.
func (f *figures) costs(want, res *result.Result, rep *Report) {
	add := reporter(rep.add)
	if file, sum := res.Cost.SpentUSD, want.Cost.SpentUSD; file != sum && closeTo(number(file), number(sum)) {
		add.differ(".cost.spent_usd", file, sum) // in its last digits
	}
	f.spending(want, res, rep)
	requests(res.Cost.ModelRequests, ".cost.model_requests", res, rep)
	c := want.CostAccounting
	if c == nil {
		return
	}
	requests(res.Replay.ModelRequests, ".replay.model_requests", res, rep)
	const account = ".cost_accounting"
	// If the process was killed between writing the ledger and the journal, an outcome is missing
	// in one of them.
	least, most := want.Cost.SpentUSD-want.Cost.MayHaveBeenChargedUSD, want.Cost.SpentUSD.Plus(c.SharedUSD).Plus(c.LostUSD)
	add.must(c.JudgeUSD >= least, account+".judge_usd", c.JudgeUSD, "the questions alone cost %v", least)
	add.must(c.JudgeUSD <= most, account+".judge_usd", c.JudgeUSD, "judging the questions, shared requests and lost requests cost %v", most)
	add.must(c.ActorUSD >= f.actor, account+".actor_usd", c.ActorUSD, "the questions alone cost %v", f.actor)
	add.must(c.LostUSD <= c.TotalUSD, account+".lost_usd", c.LostUSD, "it is a part of total_usd")
	if l := c.List; l != nil {
		sum := f.replay.Saved().Plus(l.UnassignedSavingsUSD)
		add.must(c.CachedSavingsUSD == sum, account+".cached_savings_usd", c.CachedSavingsUSD, "the questions and what belongs to none saved %v", sum)
		// Savings from checking the judge for several arms are in no arm's cached_savings_usd. A
		// recorded daemon means that no workers asked, so without other arms this one is alone.
		alone := res.Replay.Daemon != nil && res.Replay.Together == nil || l.SharedUSD == 0 && c.SharedUSD != 0
		several := !alone && res.Identity.Judge != nil
		add.must(several || l.SavedUSD <= c.CachedSavingsUSD, account+".list_cost.saved_usd", l.SavedUSD,
			"it is a part of what all hits saved, %v", c.CachedSavingsUSD)
		add.must(l.SharedUSD == 0 || l.SharedUSD == c.SharedUSD, account+".list_cost.shared_usd", l.SharedUSD,
			"what all arms share cost %v", c.SharedUSD)
	}
	models := llm.USD(0)
	for _, t := range c.Tokens {
		models = models.Plus(t.USD)
	}
	add.must(models <= c.TotalUSD, account+".tokens_by_model", models, "its models cost more than total_usd")
}

// number returns an amount as written in the file.
func number(u llm.USD) json.Number { return json.Number(text(u)) }
