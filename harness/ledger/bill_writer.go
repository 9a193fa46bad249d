package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"

	"evalctl/harness/result"
)

// billWriter writes the lines of a bill and describes the file.
type billWriter struct {
	to       io.Writer
	sum      hash.Hash
	requests int
}

// newBillWriter returns a writer to w.
func newBillWriter(w io.Writer) *billWriter {
	sum := sha256.New()
	return &billWriter{to: io.MultiWriter(w, sum), sum: sum}
}

// add writes a line.
func (b *billWriter) add(l result.BillLine) error {
	data, err := json.Marshal(l)
	if err == nil {
		_, err = b.to.Write(append(data, '\n'))
	}
	b.requests++
	return err
}

// bill describes the written file, whose name is file.
func (b *billWriter) bill(file string) *result.Bill {
	return &result.Bill{File: file, SHA256: hex.EncodeToString(b.sum.Sum(nil)), Requests: b.requests}
}
