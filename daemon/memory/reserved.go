package memory

import (
	"strings"
)

// ownFolders are the folders with files of the daemon's own, and what clients use instead of
// writing there.
var ownFolders = map[string]string{
	sessionsDir + "/":    "add messages to the session",
	jobsDir + "/":        "ask for what the job does",
	originalsDir + "/":   "ingest the file",
	consolidationsFolder: "consolidate the brain",
}

// CheckWritable returns an *ArgumentError for a path that clients must not write: a file whose
// content the daemon relies on, or a path below one. In the folders of sessions, jobs, originals
// and consolidations, these are the generated files, whose names begin with an underscore. Clients
// may read and delete them.
func CheckWritable(path string) error {
	for folder, instead := range ownFolders {
		rest, in := strings.CutPrefix(path, folder)
		if in && (strings.HasPrefix(rest, "_") || strings.Contains(rest, "/_")) {
			return argumentErrorf("path", "%.200q is a file of the daemon's own: %s instead", path, instead)
		}
	}
	return nil
}
