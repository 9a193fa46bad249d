package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// apply makes the planned changes in a batch, and returns the path of the record. The path is empty
// if there was nothing to do.
func (p *consolidation) apply(ctx context.Context, b *store.Batch, model string) (record string, err error) {
	if p.err != nil {
		return "", p.err
	}
	for _, path := range sortedPaths(p.deletes) {
		if err := b.Delete(ctx, path); err != nil {
			return "", err
		}
	}
	for _, path := range sortedPaths(p.writes) {
		if err := b.Write(ctx, path, []byte(p.writes[path])); err != nil {
			return "", err
		}
	}
	if !p.next.equal(p.state) {
		data, err := json.MarshalIndent(p.next, "", "\t")
		if err != nil {
			return "", fmt.Errorf("encode %s: %w", consolidationState, err)
		}
		if err := b.Write(ctx, consolidationState, append(data, '\n')); err != nil {
			return "", err
		}
	}
	if p.nothingToDo() {
		return "", nil
	}
	record, err = p.recordPath(ctx, b)
	if err != nil {
		return "", err
	}
	text, err := p.recordText(model)
	if err != nil {
		return "", err
	}
	return record, b.Write(ctx, record, []byte(text))
}

func (p *consolidation) recordPath(ctx context.Context, b *store.Batch) (string, error) {
	stem := consolidationsFolder + "_" + p.now.UTC().Format("20060102T150405.000Z")
	path := stem + markdownExt
	for n := 2; ; n++ {
		taken, err := b.Exists(ctx, path)
		if err != nil || !taken {
			return path, err
		}
		path = fmt.Sprintf("%s-%d%s", stem, n, markdownExt)
	}
}

// recordText lists the actions, with the full text of everything pruned or replaced.
func (p *consolidation) recordText(model string) (string, error) {
	var b strings.Builder
	for _, section := range []struct {
		title   string
		actions []protocol.ConsolidationAction
	}{{"Compiled", p.compiled}, {"Promoted", p.promoted}} {
		if len(section.actions) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", section.title)
		for _, a := range section.actions {
			fmt.Fprintf(&b, "- %s: %s\n", plainPath(a.Path), a.Reason)
			for _, from := range a.From {
				fmt.Fprintf(&b, "  - from %s\n", plainPath(from))
			}
		}
	}
	for _, replaced := range []bool{false, true} {
		title := "Pruned"
		if replaced {
			title = "Replaced"
		}
		for _, l := range p.lost {
			if l.replaced != replaced {
				continue
			}
			if title != "" {
				fmt.Fprintf(&b, "\n## %s\n", title)
				title = ""
			}
			b.WriteString(l.String())
		}
	}
	fields := frontmatter.Fields{
		Title: "Consolidation of " + p.now.UTC().Format("2006-01-02 15:04:05"), Source: protocol.SourceCompile, Created: p.now,
	}
	if model != "" {
		fields.Metadata = map[string]any{"model": model}
	}
	return frontmatter.Set(b.String(), fields)
}

// String returns the text in a code block that its content cannot end. The hash leaves out the line
// break before the end of the block.
func (l loss) String() string {
	fence := "```"
	for strings.Contains(l.text, fence) {
		fence += "`"
	}
	return fmt.Sprintf("\n### %s\n\n- %s\n- %d bytes, SHA-256 %s\n\n%s\n%s\n%s\n",
		plainPath(l.path), l.reason, len(l.text), sealOf(l.text), fence, l.text, fence)
}

// plainPath quotes a path that could be read as something else.
func plainPath(path string) string {
	if q := strconv.Quote(path); q != `"`+path+`"` {
		return q
	}
	return path
}
