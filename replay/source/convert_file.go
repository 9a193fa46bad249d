package source

import (
	"context"
	"fmt"
	"os"
	"strings"

	"evalctl/harness/dataset"
	"evalctl/harness/resultfile"
	"evalctl/internal/atomicfile"
	"evalctl/internal/figure"
	"evalctl/internal/inputfile"
)

// Conversion is the outcome of Convert.
type Conversion struct {
	// Renamed lists the table keys that were mapped to known keys, as "from → to".
	Renamed []string
	// Notes describe other differences from the file.
	Notes   []string
	Written []WrittenFile
}

// WrittenFile is a file and a description of its content, such as "3 questions".
type WrittenFile struct{ Path, Content string }

// Convert converts a file to JSONL at output. The file is a table (see dataset.Convert) or a
// benchmark, whose documents are written beside the questions. An empty format is detected from the
// content. Convert never replaces a file.
func Convert(ctx context.Context, file, output string, o Options) (Conversion, error) {
	if err := atomicfile.CheckNew(output); err != nil {
		return Conversion{}, err
	}
	format, err := inputFormat(file, o.Format)
	switch {
	case err != nil:
		return Conversion{}, err
	case format.IsBenchmark():
		o.Format = format
		return convertBenchmark(ctx, file, output, o)
	}
	if o.Errata != "" || o.OptionSeed != 0 {
		return Conversion{}, fmt.Errorf("%s is not a benchmark; leave out --errata and --option-seed, which are for benchmarks", file)
	}
	return convertTable(file, output, format)
}

// inputFormat returns the given format, or else detects it from the content.
func inputFormat(file string, given dataset.Format) (dataset.Format, error) {
	files, err := filesOf(file)
	if err != nil {
		return "", err
	}
	file = files[0]
	if err := resultfile.Unexpected(file, "questions or documents in another format than JSONL, or a benchmark"); err != nil {
		return "", err
	}
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", file)
	}
	if err != nil {
		return "", err
	}
	f, err := inputfile.Open(file, inputfile.Streamed)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if given != "" {
		return given, nil
	}
	switch format := dataset.DetectIn(f); format {
	case dataset.JSONL:
		return "", fmt.Errorf("%s is JSONL already; check it with: evalctl dataset check FILE. "+
			"If it is another kind of JSON, give --input-format json", file)
	case "":
		return "", fmt.Errorf("%s: the format cannot be recognised by the content: a table needs a header "+
			"with id and question, or path and text. Give --input-format if it is right", file)
	default:
		return format, nil
	}
}

// convertTable converts a table of questions or documents.
func convertTable(file, output string, format dataset.Format) (Conversion, error) {
	data, err := inputfile.Read(file, inputfile.Large)
	if err != nil {
		return Conversion{}, err
	}
	table, err := dataset.Convert(file, data, format)
	if err != nil {
		return Conversion{}, err
	}
	if err := atomicfile.WriteData(output, 0o644, table.Lines); err != nil {
		return Conversion{}, err
	}
	out := Conversion{Renamed: table.Renames()}
	if table.Numbered {
		out.Notes = append(out.Notes, fmt.Sprintf("the file has no ids: the questions are q1 to q%d, in the order of the file", table.Count))
	}
	what := "question"
	if table.Documents {
		what = "document"
	}
	out.Written = []WrittenFile{{output, figure.Count(table.Count, what)}}
	return out, nil
}

// convertBenchmark converts a benchmark and writes the corpus where a run finds it.
func convertBenchmark(ctx context.Context, file, output string, o Options) (Conversion, error) {
	corpus := corpusOf(output)
	if err := atomicfile.CheckNew(corpus); err != nil {
		return Conversion{}, err
	}
	b, err := Open(ctx, file, o)
	if err != nil {
		return Conversion{}, err
	}
	defer func() { _ = b.Close() }() // it was only read
	documents, err := b.Convert(ctx, output, corpus)
	if err != nil {
		return Conversion{}, err
	}
	written := b.included()
	brains := len(haystacksOf(written))
	out := Conversion{Written: []WrittenFile{
		{output, figure.Count(len(written), "question")},
		{corpus, fmt.Sprintf("%s in %s", figure.Count(documents, "document"), figure.Count(brains, "brain"))},
	}}
	if left := len(b.Infos()) - brains; left > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("the documents of %s without a question are left out", figure.Count(left, "brain")))
	}
	if e := b.Errata; e != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("errata exclude %s and correct %d", figure.Count(e.Excluded, "question"), e.Corrected))
	}
	for _, trap := range b.Report.Traps {
		out.Notes = append(out.Notes, fmt.Sprintf("%s: %s (%d)", trap.Kind, trap.Handling, trap.Count))
	}
	return out, nil
}

// corpusOf returns the path of the corpus that a run finds beside a JSONL dataset.
func corpusOf(dataset string) string { return strings.TrimSuffix(dataset, ".jsonl") + ".corpus.jsonl" }
