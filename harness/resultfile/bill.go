package resultfile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/inputfile"
	"evalctl/internal/llm"
)

// SumBill adds up the bill of the result at path. Errors name the file and the line.
func SumBill(b *result.Bill, path string) (result.CostParts, error) {
	var parts result.CostParts
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
		var l result.BillLine
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err = dec.Decode(&l); err == nil {
			err = addLine(&parts, l)
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

// addLine adds a line of a bill. It returns an error for an invalid line.
func addLine(p *result.CostParts, l result.BillLine) error {
	part := map[result.CostPartName]*llm.USD{
		result.PartReader: &p.ReaderUSD, result.PartJudge: &p.JudgeUSD,
		result.PartEmbeddings: &p.EmbeddingsUSD, result.PartDaemon: &p.DaemonUSD,
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
