package convert

import (
	"context"
	"strings"

	"evalctl/daemon/convert/budget"
	"evalctl/daemon/convert/pdf"
)

// fromPDF converts the text of a PDF. Lines in a large font become headings.
func fromPDF(ctx context.Context, m *budget.Meter, data []byte) (Document, error) {
	file, err := pdf.Read(ctx, m, data)
	if err != nil {
		return Document{}, err
	}
	var b strings.Builder
	for _, block := range file.Blocks {
		if ctx.Err() != nil {
			return Document{}, ctx.Err()
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if block.Level > 0 {
			b.WriteString(strings.Repeat("#", block.Level) + " " + escapeHeading(escapeText(strings.Join(block.Lines, " "))) + "\n")
			continue
		}
		for i, line := range block.Lines {
			if i > 0 {
				b.WriteString("  \n")
			}
			b.WriteString(escapeStart(escapeText(line)))
		}
		b.WriteByte('\n')
	}
	return Document{Title: file.Title, Markdown: b.String()}, nil
}
