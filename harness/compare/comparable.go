package compare

// Comparable returns the error that Compare would return, without computing any figures.
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
