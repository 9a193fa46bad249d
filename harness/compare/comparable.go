package compare

// Comparable returns the error that Compare would return, without computing any figures. Whether
// a pair has a primary measure is not known without them.
func Comparable(runs []*Run, opts Options) error {
	_, err := checked(runs, &opts)
	return err
}
