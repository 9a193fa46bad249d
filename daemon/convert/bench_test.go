package convert_test

import (
	"os"
	"strings"
	"testing"

	"evalctl/daemon/convert"
)

// The sizes in the results are those of the files.
func BenchmarkConvert(b *testing.B) {
	article, err := os.ReadFile("testdata/html/article.html")
	if err != nil {
		b.Fatal(err)
	}
	paper, err := os.ReadFile("pdf/testdata/columns.pdf")
	if err != nil {
		b.Fatal(err)
	}
	paragraph := "The clock above the harbour office struck again on Tuesday,\nshortly after noon, because of file_names & 2 * 3.\n\n"
	record := `{"id":17,"name":"Ann","tags":["a","b"],"note":"The clock\nstruck again","address":{"city":"Oslo","geo":[59.91,10.75]}}` + "\n"
	page := "<html><body>" + strings.Repeat(string(article[strings.Index(string(article), "<main"):]), 300)
	for _, c := range []struct {
		name string
		kind convert.Kind
		data string
	}{
		{"text", convert.Text, strings.Repeat(paragraph, 1<<20/len(paragraph))},
		{"json", convert.JSON, "[" + strings.TrimSuffix(strings.Repeat(strings.TrimSpace(record)+",", 1<<20/len(record)), ",") + "]"},
		{"json-lines", convert.JSON, strings.Repeat(record, 1<<20/len(record))},
		{"html", convert.HTML, page},
		{"page", "", page},
		{"pdf", convert.PDF, string(paper)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.data)))
			b.ReportAllocs()
			data := []byte(c.data)
			for b.Loop() {
				var err error
				if c.kind == "" {
					_, err = convert.Page(b.Context(), nil, data)
				} else {
					_, err = convert.Convert(b.Context(), c.kind, c.name, data)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
