package compare

// Comparable returns nil if Compare would compare these runs without accepting a difference, and else
// its error. It computes no figures.
func Comparable(runs []*Run) error {
	names, _, err := check(runs, &Options{})
	if err != nil {
		return err
	}
	files, ofFiles := filesOf(runs), fileNames(runs, names)
	a, err := align(files, ofFiles)
	if err != nil {
		return err
	}
	return refuse(ofFiles, keys(files, a, Options{}), a.common)
}
