package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// checkGit refuses what the package would read wrongly or get in the way of.
func (b *backend) checkGit() error {
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply", "sequencer"} {
		if _, err := b.git.Lstat(name); err == nil {
			return fmt.Errorf(".git/%s is there: finish or abort what is under way in the repository first", name)
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
	return b.neutralise()
}

// attributes come last in .git/info/attributes, and so before those of any
// document: git programs shall see the bytes of documents and nothing else.
const attributes = "* -text -ident !eol !filter !working-tree-encoding !merge !diff !conflict-marker-size\n"

func (b *backend) neutralise() error {
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
	return b.replace(name, append(text, attributes...))
}
