package extern

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"evalctl/harness/result"
	"evalctl/internal/inputfile"
)

// identify identifies a command by its words and by the files that they name.
//
// The hash covers the bytes of every word that is the path of a regular file, such as score.py in
// python3 score.py. The program is included if it is given with a folder, but not if it is found in
// PATH. Files that these import, read or download are not covered.
func identify(words []string) (result.ExternalScorer, error) {
	started := result.StartedDaemon(words)
	id := result.ExternalScorer{Program: started.Program, CommandSHA256: started.CommandSHA256}
	sum := sha256.New()
	for i, word := range words {
		if i == 0 && filepath.Base(word) == word {
			continue
		}
		info, err := os.Stat(word)
		if err != nil || !info.Mode().IsRegular() {
			continue // it is an option, or something else
		}
		digest, err := inputfile.Digest(word)
		if err != nil {
			return id, err
		}
		_, _ = io.WriteString(sum, digest)
		id.Files++
	}
	if id.Files > 0 {
		id.FilesSHA256 = hex.EncodeToString(sum.Sum(nil))
	}
	return id, nil
}
