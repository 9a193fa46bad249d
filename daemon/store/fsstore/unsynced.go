package fsstore

import (
	"errors"
	"slices"
)

// syncFiles makes the documents in their files durable. If that fails, all documents of the logs
// are written to their files again before the next attempt: what the kernel could not write to
// the disk, it reports once and then gives up, so another sync alone would succeed.
func (b *backend) syncFiles() error {
	err := b.disk.sync()
	if err == nil {
		return nil
	}
	b.unsynced = true
	// Now, because the files may already lack what the kernel gave up.
	return errors.Join(err, b.layOutAgain())
}

// layOutAgain makes the documents of the logs pending again if the last sync has failed. The
// caller has the token.
func (b *backend) layOutAgain() error {
	if !b.unsynced {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files.Lock()
	defer b.files.Unlock()
	for _, l := range []*log{b.active, b.full} { // the newer one first
		if l == nil {
			continue
		}
		read := *l           // without a change to the log
		read.size = read.end // without a commit that failed
		c, err := readLog(&read)
		if err != nil {
			return err
		}
		for _, r := range slices.Backward(c.records) {
			for _, op := range slices.Backward(r.ops) {
				if _, ok := b.pending.Docs[op.path]; !ok {
					b.pending.Put(op.path, &logEntry{loggedOp: op, log: l, when: r.when})
				}
			}
		}
	}
	b.unsynced = false
	return nil
}
