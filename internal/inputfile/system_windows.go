package inputfile

import "io/fs"

// nonblocking is not needed: named pipes are not in folders.
const nonblocking = 0

// isStandardInput reports false: the standard input has no name.
func isStandardInput(fs.FileInfo) bool { return false }
