package history

// Trend shows how the results in a folder changed from night to night.
type Trend struct {
	Root  string  `json:"root"`
	Lines []*Line `json:"lines"`
	// Benches are the lines of benches.
	Benches []*BenchLine `json:"benches"`
	// LeftOut is the number of sweeps, conformance reports and other JSON files.
	LeftOut    int          `json:"left_out"`
	Unreadable []Unreadable `json:"unreadable"`
}

// Trend returns the lines of the folder's results with their questions. Each has its last nights,
// or all if last is 0.
func (f *Folder) Trend(last int) Trend {
	t := Trend{f.Root, Lines(f.Entries, last), benchLines(f.Entries, last), len(f.Conformance) + len(f.Others), f.Unreadable}
	for _, l := range t.Lines {
		l.ReadQuestions()
	}
	for _, e := range f.Entries {
		if e.Result == nil && e.Kind != Bench {
			t.LeftOut++
		}
	}
	return t
}
