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

// Who commits, and who is the author of commits that name none.
const (
	committerName  = "evalctl"
	committerEmail = "evalctl@localhost"
)

// Commit makes one git commit.
func (b *backend) Commit(ctx context.Context, c store.Commit) error {
	if b.broken != nil {
		return b.broken
	}
	changes, err := b.record(c.Ops)
	if err != nil {
		return err
	}
	tree, err := b.objects.edit(b.head.tree, changes)
	if err != nil {
		return err
	}
	next, err := b.addCommit(ctx, tree, &object.Commit{
		ParentHashes: []plumbing.Hash{b.head.commit},
		Author:       author(c),
		Message:      message(c),
	}, c.When)
	if err != nil {
		return err
	}
	if err := b.advance(next, changes, c.When); err != nil {
		return err
	}
	if b.since++; b.since >= checkpointEvery {
		if err := b.checkpoint(stateOpen); err != nil {
			_ = b.fail(err) // told to the next one: this commit is durable
		}
	}
	return nil
}

// record writes the content of documents and returns what the operations
// amount to.
func (b *backend) record(ops []store.Op) ([]change, error) {
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

// addCommit completes c, signs it and writes it.
func (b *backend) addCommit(ctx context.Context, tree plumbing.Hash, c *object.Commit, when time.Time) (tip, error) {
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
	return content(&obj)
}

// author takes out what would end a name or an address early.
func author(c store.Commit) object.Signature {
	clean := func(text, otherwise string) string {
		text = strings.Map(func(r rune) rune {
			if r == '<' || r == '>' {
				return -1
			}
			return r
		}, oneLine(text))
		if text = strings.TrimSpace(text); text == "" {
			return otherwise
		}
		return text
	}
	return object.Signature{
		Name:  clean(c.Author, committerName),
		Email: clean(c.Email, committerEmail),
		When:  c.When.UTC(),
	}
}

// message gives every commit a subject: the reason, or what it does.
func message(c store.Commit) string {
	subject := oneLine(c.Reason)
	if subject == "" {
		subject = fmt.Sprintf("change %d documents", len(c.Ops))
		if len(c.Ops) == 1 {
			subject = oneLine(string(c.Ops[0].Kind) + " " + c.Ops[0].Path)
		}
	}
	body := strings.TrimSpace(printable(c.Message, "\n\t"))
	if body == "" {
		return subject + "\n"
	}
	return subject + "\n\n" + body + "\n"
}

func oneLine(text string) string { return strings.TrimSpace(printable(text, "")) }

// printable keeps a text from steering a terminal, or from ending the commit
// object: control characters but the allowed ones become spaces.
func printable(text, allowed string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !strings.ContainsRune(allowed, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}
