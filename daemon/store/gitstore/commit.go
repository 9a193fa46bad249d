package gitstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"evalctl/daemon/store"
)

// The committer of all commits, and the author of commits without one.
const (
	committerName  = "evalctl"
	committerEmail = "evalctl@localhost"
)

// Commit implements store.Backend. It makes one git commit.
func (b *backend) Commit(ctx context.Context, c store.Commit) (err error) {
	defer b.objects.discardIf(&err)
	if b.broken != nil {
		return b.broken
	}
	if b.opts.Admit != nil {
		if err := b.opts.Admit(); err != nil {
			return err
		}
	}
	if err := b.checkFree(c.Ops); err != nil {
		return err
	}
	if err := b.checkUnedited(c.Ops); err != nil {
		return err
	}
	changes, err := b.recordChanges(c.Ops)
	if err != nil {
		return err
	}
	tree, err := b.objects.edit(b.head.tree, changes)
	if err != nil {
		return err
	}
	next, err := b.writeCommit(ctx, tree, &object.Commit{
		ParentHashes: []plumbing.Hash{b.head.commit},
		Author:       author(c),
		Message:      message(c),
	}, c.When)
	if err != nil {
		return err
	}
	if err := b.advance(next, changes, changes, c.When); err != nil {
		return err
	}
	if b.sinceCheckpoint++; b.sinceCheckpoint >= checkpointEvery {
		if err := b.checkpoint(stateOpen); err != nil {
			_ = b.markBroken(err) // reported by the next commit, because this one is durable
		}
	}
	return nil
}

// recordChanges writes the content of documents to the object database and returns the changes that
// the operations make.
func (b *backend) recordChanges(ops []store.Op) ([]change, error) {
	var changes []change
	for _, op := range ops {
		if err := reserved(op.Path); err != nil {
			return nil, err
		}
		c := change{path: op.Path}
		if op.Kind == store.OpWrite {
			hash, err := b.objects.put(plumbing.BlobObject, op.Data)
			if err != nil {
				return nil, err
			}
			c.hash, c.mode = hash, filemode.Regular
			if c.data = op.Data; c.data == nil {
				c.data = []byte{}
			}
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// writeCommit sets the tree and the committer of c, signs it and writes it.
func (b *backend) writeCommit(ctx context.Context, tree plumbing.Hash, c *object.Commit, when time.Time) (tip, error) {
	c.TreeHash = tree
	c.Committer = object.Signature{Name: committerName, Email: committerEmail, When: when.UTC()}
	if b.opts.Sign != nil {
		payload, err := encodeCommit(c)
		if err != nil {
			return tip{}, err
		}
		c.PGPSignature, err = b.opts.Sign(ctx, SignRequest{Payload: string(payload)})
		if err == nil && c.PGPSignature == "" {
			err = errors.New("the signature is empty")
		}
		if err != nil {
			return tip{}, fmt.Errorf("sign commit: %w", err)
		}
	}
	data, err := encodeCommit(c)
	if err != nil {
		return tip{}, err
	}
	hash, err := b.objects.put(plumbing.CommitObject, data)
	return tip{hash, tree}, err
}

func encodeCommit(c *object.Commit) ([]byte, error) {
	var obj plumbing.MemoryObject
	if err := c.Encode(&obj); err != nil {
		return nil, err
	}
	return readObject(&obj)
}

// author returns the author of a commit, without characters that would end a name or an address
// early.
func author(c store.Commit) object.Signature {
	clean := func(text, standard string) string {
		text = strings.Map(func(r rune) rune {
			if r == '<' || r == '>' {
				return -1
			}
			return r
		}, oneLine(text))
		if text = strings.TrimSpace(text); text == "" {
			return standard
		}
		return text
	}
	return object.Signature{
		Name:  clean(c.Author, committerName),
		Email: clean(c.Email, committerEmail),
		When:  c.When.UTC(),
	}
}

// message returns the message of a commit. Its subject is the reason or, if there is none, a
// description of the operations.
func message(c store.Commit) string {
	subject := oneLine(c.Reason)
	if subject == "" {
		subject = fmt.Sprintf("change %d documents", len(c.Ops))
		if len(c.Ops) == 1 {
			subject = oneLine(string(c.Ops[0].Kind) + " " + c.Ops[0].Path)
		}
	}
	body := strings.TrimSpace(sanitize(c.Message, "\n\t"))
	if body == "" {
		return subject + "\n"
	}
	return subject + "\n\n" + body + "\n"
}

// oneLine is sanitize without line breaks and surrounding space.
func oneLine(text string) string { return strings.TrimSpace(sanitize(text, "")) }

// sanitize replaces control characters, except the allowed ones, with spaces. They could otherwise
// control a terminal, or end a field of the commit object.
func sanitize(text, allowed string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !strings.ContainsRune(allowed, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}
