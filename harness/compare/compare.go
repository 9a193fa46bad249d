package compare

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"evalctl/harness/key"
	"evalctl/harness/result"
)

// Options configure Compare. The zero value compares every run with every other.
type Options struct {
	// Baseline is the name or file path of the side that the others are compared with, empty for
	// none.
	Baseline string
	// Primary are the Measures that are tested first. If empty, it is recall for runs scored by
	// retrieval, else the pass rate.
	Primary []string
	// Tag restricts the comparison to questions with this tag. ClusterTag names the clusters: X for
	// tags ClusterTag:X, or result.ByBrain for the brain. If empty, the results determine it;
	// result.NoClusters disables clustering.
	Tag        string
	ClusterTag string
	// Margin is the largest accepted loss of pass rate against the baseline, between 0 and 1; nil
	// disables the test. It requires a Baseline.
	Margin *float64
	// For is the purpose of the comparison, which decides what must agree. Zero means evalctl
	// compare.
	For key.Purpose
	// Intersect compares only the common questions, and accepts runs that stopped. Accept names
	// other keys in which the runs may differ.
	Intersect bool
	Accept    []string
	// Resamples is the number of resamples for intervals and tests, 0 for DefaultResamples.
	Resamples int
}

// DefaultResamples is the default number of resamples for sign-flip tests and their intervals.
const DefaultResamples = 10_000

// seed seeds all resampling. It is fixed so that a comparison can be repeated.
const seed = 1

// ErrOptions is wrapped by the error of Compare for Options that do not fit the runs.
var ErrOptions = errors.New("cannot compare")

// Compare compares two or more runs, or sides of several runs each. It pairs questions by id.
// Questions that some runs lack are listed, and refused without Options.Intersect. Errors count as
// not passed; pairs with an unscored question are left out and counted.
//
// If the runs did not measure the same thing, Compare returns a key.IncomparableError with the
// differences. If two questions share an id, it returns key.ErrIncomparable. Any other error wraps
// ErrOptions.
func Compare(runs []*Run, opts Options) (*Comparison, error) {
	asked := opts
	in, err := checked(runs, &opts)
	if err != nil {
		return nil, err
	}
	names, base, all, a := in.names, in.base, in.keys, in.alignment
	given, order := runs, displayOrder(a, len(runs), base, opts)
	runs, names, a = reorder(runs, order), reorder(names, order), a.reordered(order)
	for i := range all {
		all[i].Values = reorder(joinEach(given, all[i].Values, key.Join), order)
	}
	c := &Comparison{
		SchemaVersion: SchemaVersion, Tag: opts.Tag, ClusterTag: opts.ClusterTag, ClusterDefault: asked.ClusterTag == "" && opts.ClusterTag != "",
		Primary: in.primary, Keys: all,
		Repeated: repeated(runs), Adjustment: "holm", Resamples: opts.Resamples, Seed: seed,
		Questions: a.questions(), Tags: []TagComparison{}, Options: asked,
	}
	if base >= 0 {
		c.Baseline = names[0]
	}
	selected := a
	if opts.Tag != "" {
		selected = a.withTag(opts.Tag)
	}
	c.Questions.Selected = len(selected.rows)
	for i, r := range runs {
		f := figuresOf(r, selected, i, opts.ClusterTag, c.Repeated)
		f.Name, f.Argument = names[i], order[i]+1
		c.Runs = append(c.Runs, f)
	}
	f := &families{measures: c.Primary}
	c.comparePairs(runs, selected, opts, f)
	if err := c.checkPrimary(opts.Primary); err != nil {
		return nil, err
	}
	if opts.Tag == "" {
		c.compareTags(a, f)
	}
	c.judge(f)
	c.Memory = c.memoryEffects(runs)
	c.Differing = differing(selected)
	c.Notes = notes(c, runs, selected)
	return c, nil
}

// input is what Compare knows of comparable runs before it computes figures.
type input struct {
	names     []string
	base      int // the index of the baseline, or -1
	primary   []string
	keys      []key.Agreement
	alignment *alignment
}

// checked rejects runs that cannot be compared, and fills in the defaults of opts.
func checked(runs []*Run, opts *Options) (in input, err error) {
	if in.names, in.base, err = check(runs, opts); err != nil {
		return in, err
	}
	if in.primary, err = primaryOf(opts.Primary, runs); err != nil {
		return in, err
	}
	files, ofFiles := filesOf(runs), fileNames(runs, in.names)
	a, err := align(files, ofFiles)
	if err != nil {
		return in, err
	}
	if in.keys, err = keys(files, ofFiles, a, *opts); err != nil {
		return in, err
	}
	in.alignment = a.joined(runs)
	opts.ClusterTag = in.alignment.clusterTag(opts.ClusterTag, runs)
	return in, checkQuestions(in.alignment, *opts)
}

// check rejects runs and options that do not fit together, and fills in defaults. base is the index
// of the baseline, or -1.
func check(runs []*Run, opts *Options) (names []string, base int, err error) {
	if len(runs) < 2 {
		return nil, 0, fmt.Errorf("%w: %d result given, and it takes two", ErrOptions, len(runs))
	}
	if err := checkFiles(runs); err != nil {
		return nil, 0, err
	}
	if err := key.CheckNames(opts.For, opts.Accept); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if opts.Resamples == 0 {
		opts.Resamples = DefaultResamples
	}
	if names = NamesOf(runs); !distinct(names) {
		return nil, 0, fmt.Errorf("%w: two of them have the same name: %s", ErrOptions, strings.Join(names, ", "))
	}
	base, err = baseline(runs, names, opts.Baseline)
	if err == nil && opts.Margin != nil && !(*opts.Margin > 0 && *opts.Margin < 1) {
		err = fmt.Errorf("%w: the margin %v is not between 0 and 1", ErrOptions, *opts.Margin)
	}
	if err == nil && opts.Margin != nil && base < 0 {
		err = fmt.Errorf("%w: a margin needs a baseline", ErrOptions)
	}
	return names, base, err
}

// NamesOf returns the names that Compare gives to runs, in order.
func NamesOf(runs []*Run) []string {
	names := make([]string, len(runs))
	var paths, sdks []string
	for i, r := range runs {
		if names[i] = r.name; r.name != "" {
			continue
		}
		sdk := ""
		if r.res != nil {
			sdk = r.res.SDK
		}
		paths, sdks = append(paths, r.path), append(sdks, sdk)
	}
	found := Names(paths, sdks)
	for i := range names {
		if names[i] == "" {
			names[i], found = found[0], found[1:]
		}
	}
	return names
}

func baseline(runs []*Run, names []string, wanted string) (int, error) {
	if wanted == "" {
		return -1, nil
	}
	if i := slices.Index(names, wanted); i >= 0 {
		return i, nil
	}
	info, err := os.Stat(wanted)
	for i, r := range runs {
		if slices.ContainsFunc(r.files(), func(f *Run) bool {
			return f.path == wanted || err == nil && os.SameFile(info, f.info)
		}) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%w: no run is called %q, and it is not one of their files; the runs are %s", ErrOptions, wanted, strings.Join(names, ", "))
}

// checkQuestions rejects options that leave nothing to compare.
func checkQuestions(a *alignment, opts Options) error {
	switch {
	case a.common == 0:
		return fmt.Errorf("%w: no question is in all of them", key.ErrIncomparable)
	case opts.Tag != "" && len(a.withTag(opts.Tag).rows) == 0:
		return fmt.Errorf("%w: no question has the tag %q", ErrOptions, opts.Tag)
	}
	if opts.ClusterTag != "" {
		if _, _, alone := a.clusters(opts.ClusterTag); alone == len(a.rows) {
			return fmt.Errorf("%w: no question has a tag %s:…, which would name its cluster", ErrOptions, opts.ClusterTag)
		}
	}
	return nil
}

// displayOrder returns the run indexes in display order: the baseline, then by pass rate.
func displayOrder(a *alignment, runs, base int, opts Options) []int {
	if opts.Tag != "" {
		a = a.withTag(opts.Tag)
	}
	order, passed := make([]int, runs), make([]float64, runs)
	for i := range order {
		order[i] = i
		n := a.counts(i)
		passed[i] = float64(n.Passed) / float64(max(1, n.Total))
	}
	slices.SortStableFunc(order, func(x, y int) int {
		switch {
		case x == base || y != base && passed[x] > passed[y]:
			return -1
		case y == base || passed[x] < passed[y]:
			return 1
		}
		return 0
	})
	return order
}

func reorder[T any](list []T, order []int) []T {
	out := make([]T, len(order))
	for i, from := range order {
		out[i] = list[from]
	}
	return out
}

func (a *alignment) reordered(order []int) *alignment {
	b := *a
	b.rows = make([][]*question, len(a.rows))
	for i, row := range a.rows {
		b.rows[i] = reorder(row, order)
	}
	b.ids, b.leftOut = reorder(a.ids, order), reorder(a.leftOut, order)
	return &b
}

func (a *alignment) questions() Questions {
	ids := make([]string, len(a.rows))
	for i, row := range a.rows {
		ids[i] = row[0].id
	}
	return Questions{
		Compared: a.common, Intersected: a.leavesOut(), LeftOut: a.leftOut,
		WithoutGold: a.excluded[result.NoGold], NotMeasurable: a.excluded[result.NotMeasurable],
		Unjudged: a.excluded[result.Unjudged], SHA256: result.IDsSHA256(slices.Values(ids)),
	}
}

// counts returns the outcomes of a run over the rows.
func (a *alignment) counts(run int) result.Counts {
	var n result.Counts
	for _, row := range a.rows {
		for _, at := range row[run].attempts {
			n.Add(result.Record{Outcome: at.outcome, Passed: at.passed})
		}
	}
	return n
}

func repeated(runs []*Run) bool {
	return slices.ContainsFunc(runs, func(r *Run) bool {
		return r.parts != nil || slices.ContainsFunc(r.questions, func(q question) bool { return len(q.attempts) > 1 })
	})
}
