package result

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"strings"
	"time"

	"evalctl/internal/inputfile"
	"evalctl/internal/llm"
)

// Bill is the file beside a result that lists the requests of its cost.
type Bill struct {
	// File is the name of the file, in the folder of the result.
	File     string `json:"file"`
	SHA256   string `json:"sha256"`
	Requests int    `json:"requests"`
}

// BillLine is a line of a bill: a request to a model, or a reply of one from a cache.
type BillLine struct {
	// At is when the outcome was known, zero if it was not recorded.
	At time.Time `json:"at,omitzero"`
	// Part is what was paid for.
	Part CostPartName `json:"part"`
	// Question is empty if it is not known for which question a request was, such as a daemon's, or if
	// it was for none.
	Question     string  `json:"question,omitempty"`
	Model        string  `json:"model"`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	USD          llm.USD `json:"usd"`
	// MayHaveUSD is USD if that is the worst case, because the provider did not count the tokens.
	MayHaveUSD llm.USD `json:"may_have_been_charged_usd,omitempty"`
	// Estimated is set if the tokens are. Unpriced is set if the price of the model is not known.
	Estimated bool `json:"usage_estimated,omitempty"`
	Unpriced  bool `json:"unpriced,omitempty"`
	// Cached is set for a reply from the cache, which costs nothing. SavedUSD is what it would have
	// cost.
	Cached   bool    `json:"cached,omitempty"`
	SavedUSD llm.USD `json:"saved_usd,omitempty"`
}

// BillWriter writes the lines of a bill and describes the file.
type BillWriter struct {
	to       io.Writer
	sum      hash.Hash
	requests int
}

// NewBillWriter returns a writer to w.
func NewBillWriter(w io.Writer) *BillWriter {
	sum := sha256.New()
	return &BillWriter{to: io.MultiWriter(w, sum), sum: sum}
}

// Add writes a line.
func (b *BillWriter) Add(l BillLine) error {
	data, err := json.Marshal(l)
	if err == nil {
		_, err = b.to.Write(append(data, '\n'))
	}
	b.requests++
	return err
}

// Bill describes what was written, in a file of this name.
func (b *BillWriter) Bill(file string) *Bill {
	return &Bill{File: file, SHA256: hex.EncodeToString(b.sum.Sum(nil)), Requests: b.requests}
}

// Open adds up the bill of the result at path. The error names the file, and the line that cannot
// be read.
func (b *Bill) Open(path string) (CostParts, error) {
	var parts CostParts
	if b.File != filepath.Base(b.File) || strings.ContainsAny(b.File, `/\`) {
		return parts, fmt.Errorf("bill %q: it must be in the folder of the result", b.File)
	}
	name := filepath.Join(filepath.Dir(path), b.File)
	file, err := inputfile.Open(name, inputfile.Streamed)
	if err != nil {
		return parts, fmt.Errorf("bill: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	r := bufio.NewReader(io.TeeReader(file, sum))
	n := 0
	for {
		data, err := inputfile.Line(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return parts, fmt.Errorf("bill %s: %w", name, err)
		}
		n++
		var l BillLine
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err = dec.Decode(&l); err == nil {
			err = parts.Add(l)
		}
		if err != nil {
			return parts, fmt.Errorf("bill %s:%d: %w", name, n, err)
		}
	}
	if digest := hex.EncodeToString(sum.Sum(nil)); digest != b.SHA256 || n != b.Requests {
		return parts, fmt.Errorf("bill %s: it has %d lines and the digest %.8s…, the result names one with %d and %.8s…: it was changed", name, n, digest, b.Requests, b.SHA256)
	}
	return parts, nil
}

// CostPartName is what models were paid for.
type CostPartName string

// The parts of a cost. Facts are what a daemon makes of documents and sessions before it is asked.
const (
	PartReader     CostPartName = "reader"
	PartJudge      CostPartName = "judge"
	PartEmbeddings CostPartName = "embeddings"
	PartDaemon     CostPartName = "daemon"
)

// CostParts are the parts of a cost. The first four add up to the total; what may have been charged
// is a part of them.
type CostParts struct {
	// ReaderUSD is what answers cost, of evalctl or of a daemon.
	ReaderUSD     llm.USD `json:"reader_usd"`
	JudgeUSD      llm.USD `json:"judge_usd"`
	EmbeddingsUSD llm.USD `json:"embeddings_usd"`
	// DaemonUSD is what a daemon paid for besides answers and embeddings, such as the extraction of
	// facts.
	DaemonUSD  llm.USD `json:"daemon_usd"`
	MayHaveUSD llm.USD `json:"may_have_been_charged_usd"`
}

// Total adds up the parts.
func (p *CostParts) Total() llm.USD {
	return p.ReaderUSD.Plus(p.JudgeUSD).Plus(p.EmbeddingsUSD).Plus(p.DaemonUSD)
}

// Add adds a line of a bill. The error is that of a line that cannot be.
func (p *CostParts) Add(l BillLine) error {
	part := map[CostPartName]*llm.USD{
		PartReader: &p.ReaderUSD, PartJudge: &p.JudgeUSD, PartEmbeddings: &p.EmbeddingsUSD, PartDaemon: &p.DaemonUSD,
	}[l.Part]
	switch {
	case part == nil:
		return fmt.Errorf("part %q is not known", l.Part)
	case l.USD < 0 || l.MayHaveUSD < 0 || l.MayHaveUSD > l.USD || l.SavedUSD < 0 || l.Cached && l.USD != 0:
		return errors.New("an amount is out of range")
	}
	*part, p.MayHaveUSD = part.Plus(l.USD), p.MayHaveUSD.Plus(l.MayHaveUSD)
	return nil
}
