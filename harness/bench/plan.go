package bench

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"evalctl/harness/bench/record"
	"evalctl/harness/bench/work"
	"evalctl/internal/decimal"
)

// Chaos are the faults that can be injected under load.
var Chaos = []string{Kill, Stop, SlowClient}

// Faults under load.
const (
	Kill       = "kill"
	Stop       = "stop"
	SlowClient = "slow-client"
)

// Settings are the settings from the command line, as text if they have a notation.
type Settings struct {
	Mix, Rate                   string
	Poisson                     bool
	Concurrency                 int
	MaxInFlight                 int
	Duration                    time.Duration // of all blocks of a stage, for each target and size
	Step, WarmUp                time.Duration
	Rounds                      int
	Timeout                     time.Duration
	Seed                        uint64
	TopK                        int
	Mode                        string
	Documents                   string
	Brains                      int
	Objectives, Search          string
	Chaos                       string
	FailOver                    string
	Restart                     bool
	Targets                     int  // without the null daemon
	Calls                       bool // a daemon calls models, whatever it is asked
	ExistingBrain               string
	CorpusSize                  int // 0 for a synthetic corpus
	CorpusName, Queries         string
	CorpusSHA256, QueriesSHA256 string
	Baseline                    bool
	// Given reports whether a flag was given. It may be nil.
	Given func(flag string) bool
}

// NewPlan returns the plan for the settings. The error names the wrong flag.
func NewPlan(w Settings) (p record.Plan, err error) {
	p = record.Plan{
		Arrival: record.Closed, Concurrency: w.Concurrency, Rounds: w.Rounds, TimeoutSeconds: w.Timeout.Seconds(), Seed: w.Seed,
		TopK: w.TopK, Mode: w.Mode, Brains: w.Brains, Objectives: w.Objectives, Search: w.Search, Chaos: w.Chaos, Restart: w.Restart,
		Corpus: w.CorpusName, CorpusSHA256: w.CorpusSHA256, Queries: w.Queries, QueriesSHA256: w.QueriesSHA256, Stages: []record.Stage{{}},
	}
	if p.Mix, err = work.ParseMix(w.Mix); err != nil {
		return p, fmt.Errorf("--mix: %w", err)
	}
	if w.Rate != "" || w.Search != "" {
		p.Arrival, p.Concurrency, p.MaxInFlight = record.Constant, 0, w.MaxInFlight
		if w.Poisson {
			p.Arrival = record.Poisson
		}
		if w.Rate == "" {
			w.Rate = startRate
		}
		if p.Stages, err = parseRates(w.Rate); err != nil {
			return p, fmt.Errorf("--rate: %w", err)
		}
	} else if w.Poisson {
		return p, errors.New("--poisson needs the mean rate, such as --rate 200/s")
	}
	if p.Sizes, err = parseSizes(w.Documents); err != nil {
		return p, err
	}
	for _, text := range []string{w.Objectives, w.Search} {
		if err := checkObjectives(text, p.Mix); err != nil {
			return p, err
		}
	}
	if w.FailOver != "" {
		if p.FailOver, err = parseShare(w.FailOver); err != nil {
			return p, fmt.Errorf("--fail-over: %w", err)
		}
	}
	p.BlockSeconds = w.Duration.Seconds() / float64(w.Rounds)
	if w.Targets > 1 || len(p.Sizes) > 1 || w.Restart {
		// Discard the beginning, because a target that was idle during other turns starts with cold
		// connections and caches.
		p.LeadSeconds = min(0.5, p.BlockSeconds/5)
	}
	if err := w.check(p); err != nil {
		return p, err
	}
	return p, errors.Join(checkSearch(p), w.checkEffect(p))
}

// checkSearch returns errFew for a search whose objectives cannot be known at any rate.
func checkSearch(p record.Plan) error {
	if p.Search == "" {
		return nil
	}
	objectives, err := record.ParseObjectives(p.Search)
	if err != nil {
		return err
	}
	return tooFew(objectives, p.Mix, p.Arrival)
}

// check returns an error for settings that conflict or are out of range.
func (w Settings) check(p record.Plan) error {
	switch {
	case w.Rounds < 1 || w.Rounds > 10_000:
		return fmt.Errorf("--rounds %d: must be from 1 to 10000", w.Rounds)
	case w.Duration/time.Duration(w.Rounds) < 100*time.Millisecond:
		return fmt.Errorf("--duration %v in %d rounds: a block would last less than 100ms; measure for longer, or in fewer rounds", w.Duration, w.Rounds)
	case p.Arrival == record.Closed && (w.Concurrency < 1 || w.Concurrency > 4096):
		return fmt.Errorf("--concurrency %d: must be from 1 to 4096", w.Concurrency)
	case p.Arrival != record.Closed && (w.MaxInFlight < 1 || w.MaxInFlight > 65536):
		return fmt.Errorf("--max-in-flight %d: must be from 1 to 65536", w.MaxInFlight)
	case w.Search != "" && w.Step < 100*time.Millisecond:
		return fmt.Errorf("--step %v: must be at least 100ms", w.Step)
	case w.WarmUp < 0:
		return fmt.Errorf("--warm-up %v: must be at least 0", w.WarmUp)
	case w.TopK < 1:
		return fmt.Errorf("--top-k %d: must be at least 1", w.TopK)
	case w.Timeout <= 0:
		return fmt.Errorf("--request-timeout %v: must be above 0", w.Timeout)
	case w.Brains < 1 || w.Brains > 1000:
		return fmt.Errorf("--brains %d: must be from 1 to 1000", w.Brains)
	case w.ExistingBrain != "" && (w.Brains > 1 || len(p.Sizes) > 1 || w.CorpusSize > 0):
		return errors.New("--use-brain names a brain that is used as it is; it excludes --brains, --corpus and --grow")
	case w.Chaos != "" && !slices.Contains(Chaos, w.Chaos):
		return fmt.Errorf("--chaos %s: must be one of %s", w.Chaos, strings.Join(Chaos, ", "))
	case w.Chaos != "" && (w.Targets > 1 || len(p.Sizes) > 1 || len(p.Stages) > 1 || w.Search != ""):
		return errors.New("--chaos is for one --target at one --rate and size, and excludes --grow and --find-limit")
	case w.Chaos != "" && w.Chaos != SlowClient && !has(p.Mix, work.Put, work.Batch):
		return fmt.Errorf("--chaos %s checks that no acknowledged write is lost: have put or batch in --mix, such as search=4,put=1", w.Chaos)
	case w.Restart && (w.Search != "" || w.Chaos != ""):
		return errors.New("--restart is for rounds, which --find-limit and --chaos do not have")
	case w.Search != "" && (len(p.Sizes) > 1 || len(p.Stages) > 1 || p.Stages[0].From != p.Stages[0].To):
		return errors.New("--find-limit is for one size, without --grow, and chooses the rates itself; --rate may say where to begin")
	case w.Search != "" && (w.Objectives != "" || w.FailOver != ""):
		return errors.New("--find-limit has the objectives itself, and compares nothing; leave out --require and --fail-over")
	case w.FailOver != "" && w.Rounds < p.FewestRounds(w.Targets):
		return fmt.Errorf("--fail-over with --rounds %d can fail nothing: a difference can be shown from %d rounds on", w.Rounds, p.FewestRounds(w.Targets))
	case w.FailOver != "" && !w.Baseline && w.Targets < 2:
		return errors.New("--fail-over needs something to compare with: --baseline FILE, or a second --target")
	case w.Baseline && w.FailOver == "":
		return errors.New("--baseline needs --fail-over, such as --fail-over 10%")
	case w.Baseline && (w.Targets > 1 || w.Search != "" || w.Chaos != ""):
		return errors.New("--baseline is for one --target, and excludes --find-limit and --chaos")
	}
	for _, n := range p.Sizes {
		if w.CorpusSize > 0 && n > w.CorpusSize {
			return fmt.Errorf("--documents %d: the corpus has %d", n, w.CorpusSize)
		}
	}
	return nil
}

// checkObjectives returns an error for invalid objectives, and for an objective on an operation
// that is not in the mix, which would only be noticed after the measurement.
func checkObjectives(text string, mix []record.Share) error {
	if text == "" {
		return nil
	}
	objectives, err := record.ParseObjectives(text)
	if err != nil {
		return err
	}
	names := []string{record.All}
	for _, s := range mix {
		names = append(names, s.Op)
	}
	for _, o := range objectives {
		if o.Op != "" && !slices.Contains(names, o.Op) {
			return fmt.Errorf("objective %q: operation %q is not in --mix, which has %s", o, o.Op, strings.Join(names[1:], ", "))
		}
	}
	return nil
}

// The maximum rate and size.
const (
	maxRate = 1e6
	maxSize = 10_000_000
)

var rateForm = regexp.MustCompile(`^([0-9.]+)(?:/s)?(?:\.\.([0-9.]+)(?:/s)?)?$`)

// startRate is the first rate in the search for the highest.
const startRate = "50/s"

// parseRates parses 200/s, steps 100/s,200/s and ramps 100/s..500/s.
func parseRates(text string) ([]record.Stage, error) {
	var stages []record.Stage
	for part := range strings.SplitSeq(text, ",") {
		m := rateForm.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, notRate(part)
		}
		from, err := decimal.Parse(m[1])
		to := from
		if err == nil && m[2] != "" {
			to, err = decimal.Parse(m[2])
		}
		if err != nil {
			return nil, notRate(part)
		}
		if from <= 0 || to <= 0 || max(from, to) > maxRate {
			return nil, fmt.Errorf("%q: a rate is above 0 and at most %.0f/s", part, maxRate)
		}
		stages = append(stages, record.Stage{From: from, To: to})
	}
	return stages, nil
}

func notRate(text string) error {
	return fmt.Errorf("%q: write a rate 200/s, steps 100/s,200/s,400/s or a ramp 100/s..500/s", text)
}

// parseSizes parses 1k,10k,100k in ascending order.
func parseSizes(text string) ([]int, error) {
	var sizes []int
	flag := "--documents"
	if strings.Contains(text, ",") {
		flag = "--grow"
	}
	for part := range strings.SplitSeq(text, ",") {
		digits, unit := strings.TrimSpace(part), 1
		for suffix, n := range map[string]int{"k": 1000, "m": 1_000_000} {
			if rest, ok := strings.CutSuffix(strings.ToLower(digits), suffix); ok {
				digits, unit = rest, n
				break
			}
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > maxSize/unit {
			return nil, fmt.Errorf("%s %q: write a number above 0, such as 500, 10k or 1m, at most 10m", flag, part)
		}
		if n *= unit; len(sizes) > 0 && n <= sizes[len(sizes)-1] {
			return nil, fmt.Errorf("%s %s: sizes must ascend", flag, text)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// parseShare parses 10% or 0.1.
func parseShare(text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	v, err := decimal.Parse(digits)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v <= 10) {
		return 0, fmt.Errorf("%q: write a percentage above 0, such as 10%%", text)
	}
	return v, nil
}
