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

// Bill is the file next to a result that lists the requests of its cost.
type Bill struct {
	// File is the name of the file, in the folder of the result.
	File     string `json:"file"`
	SHA256   string `json:"sha256"`
	Requests int    `json:"requests"`
}

// BillLine is a line of a bill: a request to a model, or a cached reply.
type BillLine struct {
	// At is the time of the outcome, zero if it was not recorded.
	At time.Time `json:"at,omitzero"`
	// Part is the part of the cost.
	Part CostPartName `json:"part"`
	// Question is empty if the request belongs to no question, or its question is unknown, as for a
	// daemon's requests.
	Question     string  `json:"question,omitempty"`
	Model        string  `json:"model"`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	USD          llm.USD `json:"usd"`
	// MayHaveUSD is USD if this is the worst case, because the provider did not count the tokens.
	MayHaveUSD llm.USD `json:"may_have_been_charged_usd,omitempty"`
	// Estimated is set if the tokens are estimated. Unpriced is set if the model's price is
	// unknown.
	Estimated bool `json:"usage_estimated,omitempty"`
	Unpriced  bool `json:"unpriced,omitempty"`
	// Cached is set for a cached reply, which costs nothing. SavedUSD is its cost without the
	// cache.
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

// Bill describes the written file, whose name is file.
func (b *BillWriter) Bill(file string) *Bill {
	return &Bill{File: file, SHA256: hex.EncodeToString(b.sum.Sum(nil)), Requests: b.requests}
}

// Open adds up the bill of the result at path. Errors name the file and the line.
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

// CostPartName names a part of a cost.
type CostPartName string

// The parts of a cost. Facts are extracted by a daemon from documents and sessions before questions
// are asked.
const (
	PartReader     CostPartName = "reader"
	PartJudge      CostPartName = "judge"
	PartEmbeddings CostPartName = "embeddings"
	PartDaemon     CostPartName = "daemon"
)

// CostParts are the parts of a cost. The first four add up to the total and include possible
// charges.
type CostParts struct {
	// ReaderUSD is the cost of answers, by evalctl's reader or a daemon's.
	ReaderUSD     llm.USD `json:"reader_usd"`
	JudgeUSD      llm.USD `json:"judge_usd"`
	EmbeddingsUSD llm.USD `json:"embeddings_usd"`
	// DaemonUSD is the cost of a daemon besides answers and embeddings, such as the extraction of
	// facts.
	DaemonUSD  llm.USD `json:"daemon_usd"`
	MayHaveUSD llm.USD `json:"may_have_been_charged_usd"`
}

// Total adds up the parts.
func (p *CostParts) Total() llm.USD {
	return p.ReaderUSD.Plus(p.JudgeUSD).Plus(p.EmbeddingsUSD).Plus(p.DaemonUSD)
}

// Add adds a line of a bill. It returns an error for an invalid line.
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
