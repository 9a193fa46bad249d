package compare

// Comparable returns nil if Compare would compare these runs with these options, and else its error. It
// computes no figures.
func Comparable(runs []*Run, opts Options) error {
	names, _, err := check(runs, &opts)
	if err != nil {
		return err
	}
	files, ofFiles := filesOf(runs), fileNames(runs, names)
	a, err := align(files, ofFiles)
	if err != nil {
		return err
	}
	_, err = keys(files, ofFiles, a, opts)
	return err
}
