// Package fsstore keeps documents as plain files in a directory.
//
// The documents are in the subdirectory documents, and the files of the package itself in .store,
// so no document path can name them:
//
//	documents/notes/a.md   the document notes/a.md
//	documents/%=a%3ab.md   the document a:b.md, see store.EncodeName
//	.store/schema          version of this layout
//	.store/names           which names the file system accepts, see names.go
//	.store/lock            locked by the process that has the store open
//	.store/journal         commits whose documents may not be on disk yet, see header.go, record.go
//	.store/journal.2       the same; commits go to one of them while the other one is emptied
//	.store/staged          the document that replaces another one
//	.store/replaced        files that were found in the place of documents when the layout was converted
//	.store/closed          exists while the store is closed, except after a crash; says whether
//	                       there are documents, or that their folder was replaced
//
// A commit is durable once it is in a log, which takes one sync of one file for all callers that
// wait. Its documents are then written to their files, a moment later if there are several callers.
// Until then reads are answered from the log. The log is emptied once all files were synced
// together. While the store is closed, the logs are empty.
//
// After a crash, the contents of files and the numbers of records decide, never times: see
// recover.go.
package fsstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"evalctl/daemon/store"
)

const (
	documentsDir = "documents"
	stateDir     = ".store"
	schemaFile   = stateDir + "/schema"
	lockFile     = stateDir + "/lock"
	stagedFile   = stateDir + "/staged"
	closedFile   = stateDir + "/closed"
	// notEmpty is the content of closedFile if there are documents, and noDocuments if there are
	// none. An empty file is what a crash has left.
	notEmpty    = "documents\n"
	noDocuments = "empty\n"
	// replaced is the content of closedFile if there were documents when the folder was replaced.
	// The store was not closed.
	replaced = "replaced\n"

	dirMode  = 0o700
	fileMode = 0o600
)

// logFiles are the names of the logs.
var logFiles = [2]string{stateDir + "/journal", stateDir + "/journal.2"}

// Open opens the store in dir, and creates the directory and the store if they do not exist. After
// a crash, Open first writes the documents of the log to their files, and logs each. If a file was
// changed by hand since the crash, that version becomes another document, such as "a (edited by
// hand, found 2026-11-28).md". A store that is already open, in this or another process, is
// store.ErrLocked. A layout newer than this package supports is store.ErrSchemaVersion. A damaged
// log and vanished documents are store.ErrDamaged. Layouts of older versions of the package are
// converted.
//
// Every mutation is durable when it returns. A crash at any instant leaves all of it or none of it.
// A mutation that fails leaves the documents unchanged. If it cannot be rolled back, the store
// rejects further writes until it is reopened. Writes are also rejected while earlier documents
// cannot be written to their files, except that on a full disk the log accepts writes while it has
// room.
//
// Files in the folder of the documents that are not documents are left alone; Skipped names them. A
// document whose file cannot be written stays in the log, and does not affect others unless such
// documents alone fill it.
//
// Other programs may read the files that LocalPath names, but must not change them while the store
// is open. They see a change at once, or within ten seconds while several callers write, and can
// see incomplete files. Symbolic links are not documents and are not followed.
func Open(ctx context.Context, dir string, opts *store.Options) (*store.Store, error) {
	b, err := open(ctx, dir, opts, nil)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	b.files.Log = opts.Complete().Logger
	return store.New(b, opts), nil
}

type backend struct {
	logger *slog.Logger
	now    func() time.Time

	files store.Files // the documents that are in their files
	home  *os.Root    // of the store; for files in .store
	// top is home as a file, open since before the first write. The kernel reports an error of
	// writing once to each file that was open then, and only to the first one that is opened
	// later: another store on the same file system may have been told already.
	top  *os.File
	disk disk
	lock *flock.Flock
	// folder describes the folder of the documents when it was opened.
	folder os.FileInfo

	// pending has the documents of the logs. The lock of files guards it.
	pending store.Overlay[*logEntry]

	// settling holds a token while a log is being emptied. laying is held while documents are
	// written to their files. The order of locks is settling, mu, laying, and the lock of files.
	settling chan struct{}
	laying   sync.Mutex
	// unsynced is set if documents that were removed from pending may not be on disk, because a
	// sync has failed. It needs the token.
	unsynced bool
	// writable has the folders that the daemon may write to. Only Commit uses it.
	writable map[string]bool

	mu sync.Mutex // guards the fields below, and is held while a commit is made durable
	// active gets the commits. spare is empty and gets them next, and full is being emptied; either
	// spare or full is nil.
	active, spare, full *log
	number              uint64 // of the last commit
	// failed is why the last attempt to write a log's documents to their files failed, or nil.
	failed error
	// broken is the error after which the log may have a commit that failed, or nil. Reopening the
	// store repairs it. It is also set once the folder of the documents was replaced.
	broken error
	// timer calls work. dirty is when the first commit came to an empty log, or zero.
	timer  *time.Timer
	dirty  time.Time
	closed bool
}

var _ store.Backend = (*backend)(nil)

// Groups implements an optional method of store.Backend.
func (b *backend) Groups() {}

// LocalPath implements an optional method of store.Backend. It writes the document to its file if
// it is not there yet; if that fails, the next write reports it.
func (b *backend) LocalPath(path string) string {
	b.files.RLock()
	_, waits := b.pending.Docs[path]
	b.files.RUnlock()
	if waits {
		_ = b.settle()
	}
	b.files.RLock()
	defer b.files.RUnlock()
	file, err := b.files.Place(path, true)
	if err != nil {
		return ""
	}
	return filepath.Join(b.home.Name(), documentsDir, filepath.FromSlash(file))
}

// Broken implements an optional method of store.Backend.
func (b *backend) Broken() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken != nil
}

// Replaced implements an optional method of store.Backend. It reports whether the folder of the
// documents was deleted, unmounted or exchanged.
func (b *backend) Replaced() bool { return b.checkFolder() != nil || b.Broken() }

// checkFolder fails if the folder of the documents is no longer the one that was opened. What
// the store writes to its files then gets into a folder that is not in use any more.
func (b *backend) checkFolder() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, err := os.Lstat(filepath.Join(b.home.Name(), documentsDir))
	if err == nil && os.SameFile(now, b.folder) {
		return nil
	}
	if b.broken == nil {
		b.broken = fmt.Errorf("%w: the folder %s was replaced; reopen the store", store.ErrReadOnly, documentsDir)
		// An empty folder in its place must not be taken for an empty store. If this write
		// fails, opening the store fails too, or the folder of the whole store has gone.
		_ = b.writeClosed(replaced)
	}
	return b.broken
}

// Close writes the documents in the logs to their files and releases the lock last. If that fails,
// or the folder of the documents was replaced, the logs are left for Open.
func (b *backend) Close() error {
	b.mu.Lock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	broken := b.broken != nil
	b.mu.Unlock()
	b.settling <- struct{}{}
	defer func() { <-b.settling }()
	err := b.settleAll()
	if broken {
		return b.release() // its error was reported
	}
	if err == nil {
		err = b.shortenLogs()
	}
	if err == nil {
		// Without this file the next Open only takes longer.
		state := notEmpty
		if empty, err := b.isEmpty(); err == nil && empty {
			state = noDocuments
		}
		_ = b.writeClosed(state)
	}
	return errors.Join(err, b.release())
}

// writeClosed writes closedFile and syncs it: after a power failure, too, a folder of documents
// that is not mounted must not be taken for an empty one.
func (b *backend) writeClosed(state string) error {
	f, err := b.home.OpenFile(closedFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(state)
	return errors.Join(err, f.Sync(), f.Close())
}

// shortenLogs shortens logs without records to their headers.
func (b *backend) shortenLogs() error {
	return errors.Join(b.active.shorten(slotsSize), b.spare.shorten(slotsSize))
}

func (b *backend) release() error {
	var errs []error
	if b.disk != nil {
		b.disk.release()
	}
	for _, l := range []*log{b.active, b.spare, b.full} {
		if l != nil {
			errs = append(errs, l.file.Close())
		}
	}
	if b.files.Root != nil {
		errs = append(errs, b.files.Root.Close())
	}
	return errors.Join(append(errs, closeFile(b.top), b.home.Close(), b.lock.Close())...)
}
