package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"
)

const maxEvent = 16 << 20

var errEventSize = errors.New("an event is too large")

// passStream passes on stream events as they arrive, including comments. It omits the usage event
// unless the daemon asked for it, because some clients do not expect an event without choices.
func passStream(w http.ResponseWriter, c *call, body io.Reader) outcome {
	rc := http.NewResponseController(w)
	r := bufio.NewReader(body)
	t := newTally(c)
	var all []byte // for the cache
	done := false
	for {
		block, err := readBlock(r)
		a, last := parseBlock(block)
		t.add(a)
		done = done || last
		if c.keep != nil && len(all) <= maxEvent {
			all = append(all, block...)
		}
		if len(block) > 0 && (c.wantsUsage || a.Usage == nil || len(a.Choices) > 0) {
			_ = rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // without it, a stalled client waits longer
			_, writeErr := w.Write(block)
			if writeErr = errors.Join(writeErr, rc.Flush()); writeErr != nil {
				return streamOutcome(t, done, done, writeErr)
			}
		}
		if err == nil {
			continue
		}
		// A daemon may disconnect at [DONE], the last event.
		whole := done || errors.Is(err, io.EOF) && t.ended()
		if whole && c.keep != nil && t.whole() && len(all) <= maxEvent {
			c.keep(newCachedAnswer("text/event-stream", all, t))
		}
		return streamOutcome(t, whole, done, err)
	}
}

// streamOutcome charges a stream by its usage only if [DONE] or the end of all choices had arrived
// before, and else by the worst case.
func streamOutcome(t *tally, whole, done bool, end error) outcome {
	o := t.outcome()
	o.counted = o.counted && (done || t.final)
	o.ended, o.broken = whole, !whole && !errors.Is(end, io.EOF)
	return o
}

// readBlock returns the next lines up to and including a blank one, unchanged. The last block may
// lack the blank line.
func readBlock(r *bufio.Reader) ([]byte, error) {
	var block []byte
	for {
		line, err := r.ReadSlice('\n')
		block = append(block, line...)
		if len(block) > maxEvent {
			return nil, errEventSize
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil || len(bytes.TrimRight(line, "\r\n")) == 0 && atLineStart(block, line) {
			return block, err
		}
	}
}

// atLineStart reports whether line, the end of block, starts at a line start.
func atLineStart(block, line []byte) bool {
	before := block[:len(block)-len(line)]
	return len(before) == 0 || before[len(before)-1] == '\n'
}

// parseBlock returns the answer in an event, and whether the event is the last one, [DONE]. Other
// events are empty.
func parseBlock(block []byte) (a wireAnswer, done bool) {
	var data []byte
	for line := range bytes.Lines(block) {
		if value, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:")); ok {
			data = append(append(data, value...), '\n')
		}
	}
	data = bytes.TrimSpace(data)
	if string(data) == "[DONE]" {
		return a, true
	}
	return parseAnswer(data), false
}
