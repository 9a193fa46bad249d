package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"evalctl/daemon/store"
)

// checkGit returns an error for a repository that the package would misread or whose unfinished
// operations it would disturb.
func (b *backend) checkGit() error {
	for _, name := range []string{
		"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply",
		"sequencer",
	} {
		if _, err := b.git.Lstat(name); err == nil {
			return store.Locked(nil, ".git/%s exists: finish or abort the operation in progress in the repository first", name)
		}
	}
	cfg, err := b.objects.storage.Config()
	if err != nil {
		return fmt.Errorf(".git/config: %w", err)
	}
	if cfg.Core.IsBare {
		return errors.New("is a bare repository; clone it, and open the clone")
	}
	for _, o := range cfg.Raw.Section("extensions").Options {
		if !strings.EqualFold(o.Key, "objectformat") || o.Value != "sha1" {
			return fmt.Errorf("the repository uses extensions.%s = %s, which is not supported", o.Key, o.Value)
		}
	}
	return b.writeAttributes()
}

// attributes is the last line of .git/info/attributes, which overrides the attributes in all
// documents. It makes git programs use the bytes of documents unchanged.
const attributes = "* -text -ident !eol !filter !working-tree-encoding !merge !diff !conflict-marker-size\n"

// writeAttributes adds attributes to the repository.
func (b *backend) writeAttributes() error {
	const name = "info/attributes"
	text, err := b.git.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if strings.HasSuffix(string(text), attributes) {
		return nil
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	if err := b.git.MkdirAll("info", dirMode); err != nil {
		return err
	}
	return b.replaceFile(name, append(text, attributes...))
}
