package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/printable"
)

// maxFailed limits how much of a failed question's answer is stored: texts, names and messages
// together, in bytes before JSON encoding. Otherwise a daemon that floods its clients could fill
// the disk with answers that do not count.
const maxFailed = 64 << 10

// The parts of maxFailed. The rest is for the texts of chunks.
const (
	maxMessage    = 3 << 10 // of each attempt
	maxReported   = 1 << 10 // of each value that a daemon reports about itself
	maxChunkNames = 32 << 10
	maxText       = 12 << 10
	maxCitations  = 8 << 10
)

// bound cuts the record of a failed question to maxFailed and records how much was cut.
func bound(r *result.Record) {
	b := bounder{left: maxFailed}
	if r.Error != nil {
		f := *r.Error
		f.Message = b.text(f.Message, maxMessage)
		r.Error = &f
	}
	failed := r.Failed
	r.Failed = nil
	for _, f := range failed {
		f.Message = b.text(f.Message, maxMessage)
		r.Failed = append(r.Failed, f)
	}
	for _, s := range []*string{&r.EffectiveMode, &r.Fusion, &r.Model, &r.PromptSHA256} {
		*s = b.text(*s, maxReported)
	}
	b.chunkNames(r)
	r.Answer = b.text(r.Answer, maxText)
	b.citations(r)
	for i := range r.Retrieved {
		c := &r.Retrieved[i]
		c.Text = b.text(c.Text, b.left/(len(r.Retrieved)-i))
	}
	r.CutBytes = b.cut
}

// bounder counts the bytes that may still be stored, and those that were cut.
type bounder struct{ left, cut int }

// text returns a copy of s of at most limit bytes. Longer text is cut and marked.
func (b *bounder) text(s string, limit int) string {
	if len(s) > limit {
		const markRoom = len(" … [9223372036854775807 bytes cut]")
		kept := printable.Prefix(s, limit-markRoom)
		b.cut += len(s) - len(kept)
		mark := fmt.Sprintf(" … [%d bytes cut]", len(s)-len(kept))
		if len(mark) > limit {
			return ""
		}
		s = kept + mark
	}
	b.left -= len(s)
	return strings.Clone(s) // so that the rest is not kept in memory
}

// chunkNames keeps the names of the first chunks, without their texts.
func (b *bounder) chunkNames(r *result.Record) {
	chunks, room := r.Retrieved, maxChunkNames
	r.Retrieved = []result.Chunk{}
	for i, c := range chunks {
		size := chunkSize(c) - len(c.Text)
		// A chunk without names also takes room.
		if room -= size + 16; room < 0 {
			for _, c := range chunks[i:] {
				b.cut += chunkSize(c)
			}
			return
		}
		b.left -= size + 16
		r.Retrieved = append(r.Retrieved, c)
	}
}

func chunkSize(c result.Chunk) int {
	size := len(c.ChunkID) + len(c.DocumentID) + len(c.Path) + len(c.Title) + len(c.Date) + len(c.SessionID) + len(c.Text)
	for _, d := range c.Duplicates {
		size += len(d)
	}
	return size
}

// citations keeps the first citations whole, because a part of one is not valid JSON.
func (b *bounder) citations(r *result.Record) {
	citations, room := r.Citations, maxCitations
	r.Citations = []json.RawMessage{}
	for i, c := range citations {
		if room -= len(c) + 1; room < 0 {
			for _, c := range citations[i:] {
				b.cut += len(c)
			}
			return
		}
		b.left -= len(c) + 1
		r.Citations = append(r.Citations, c)
	}
}
