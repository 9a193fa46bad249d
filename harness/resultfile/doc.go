// Package resultfile reads result files, one question at a time, and the bills beside them. It says
// what kind of evalctl's files a file is.
package resultfile
