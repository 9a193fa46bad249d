package pdf_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/convert/pdf"
	"evalctl/internal/goldentest"
)

// The files of testdata were made by pdfTeX, Chromium, ReportLab, and WeasyPrint, whose files were
// encrypted.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pdf")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := read(t.Context(), data)
		if filepath.Base(file) == "password.pdf" {
			if !errors.Is(err, pdf.ErrPassword) {
				t.Errorf("%s: error %v", file, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		goldentest.Compare(t, strings.TrimSuffix(file, ".pdf")+".golden.txt", show(doc))
	}
}

// show shows a document in lines. Those of headings begin with number signs.
func show(doc pdf.Document) string {
	var b strings.Builder
	b.WriteString("title: " + doc.Title + "\n")
	for _, block := range doc.Blocks {
		b.WriteString("\n")
		for _, line := range block.Lines {
			b.WriteString(strings.TrimPrefix(strings.Repeat("#", block.Level)+" ", " ") + line + "\n")
		}
	}
	return b.String()
}

func TestLayout(t *testing.T) {
	type lines = []string
	long := lines{"The harbour clock had stood still for eleven", "years when somebody found the missing key."}
	tests := []struct {
		name, resources string
		contents        []string
		want            []pdf.Block
	}{
		{
			"pages are in order", helvetica,
			[]string{column(72, 700, 12, "First page."), "", column(72, 700, 12, "Third page.")},
			[]pdf.Block{{Lines: lines{"First page."}}, {Lines: lines{"Third page."}}},
		}, {
			"lines join to a paragraph", helvetica,
			[]string{column(72, 700, 12, long...)},
			[]pdf.Block{{Lines: lines{strings.Join(long, " ")}}},
		}, {
			"a gap divides paragraphs", helvetica,
			[]string{column(72, 700, 12, long...) + column(72, 640, 12, long...)},
			[]pdf.Block{{Lines: lines{strings.Join(long, " ")}}, {Lines: lines{strings.Join(long, " ")}}},
		}, {
			"short lines stay lines", helvetica,
			[]string{column(72, 700, 12, "Harbour Office", "1 Pier Street", "Northport on the Northern Sea")},
			[]pdf.Block{{Lines: lines{"Harbour Office", "1 Pier Street", "Northport on the Northern Sea"}}},
		}, {
			"columns are read one after the other", helvetica,
			[]string{column(72, 700, 12, "Left one is a long line.", "left two is a long line") + column(320, 700, 12, "right one is a long line", "right two.")},
			[]pdf.Block{{Lines: lines{"Left one is a long line. left two is a long line right one is a long line right two."}}},
		}, {
			"words are divided at gaps", helvetica,
			[]string{"BT /F1 12 Tf 72 700 Td [(Two) -300 (w) 30 (ords) -50 (!)] TJ 100 0 Td (Third) Tj ET"},
			[]pdf.Block{{Lines: lines{"Two words! Third"}}},
		}, {
			"hyphens at the end of lines are removed", helvetica,
			[]string{column(72, 700, 12, "The harbour clock has been re-", "paired by the Northern Town-", "Hall.")},
			[]pdf.Block{{Lines: lines{"The harbour clock has been repaired by the Northern Town-Hall."}}},
		}, {
			"a soft hyphen that is drawn is a hyphen", helvetica,
			[]string{column(72, 700, 12, "Order 07\xadQRT of 2025\xad03\xad14, pages 12\xad16, re\xad", "paired.")},
			[]pdf.Block{{Lines: lines{"Order 07-QRT of 2025-03-14, pages 12-16, repaired."}}},
		}, {
			"large text is a heading", helvetica,
			[]string{column(72, 760, 24, "Report") + column(72, 720, 16, "Summary") + column(72, 700, 12, long...)},
			[]pdf.Block{{Lines: lines{"Report"}, Level: 1}, {Lines: lines{"Summary"}, Level: 3}, {Lines: lines{strings.Join(long, " ")}}},
		}, {
			"rotated text is read along its lines", helvetica,
			[]string{"q 0 1 -1 0 300 100 cm " + column(0, 0, 12, long...) + " Q"},
			[]pdf.Block{{Lines: lines{strings.Join(long, " ")}}},
		}, {
			"lines that are drawn upwards are sorted", helvetica,
			[]string{column(72, 660, 12, "Fourth.") + column(72, 680, 12, "Third.") + column(72, 700, 12, "Second.") + column(72, 720, 12, "First.")},
			[]pdf.Block{{Lines: lines{"First. Second. Third. Fourth."}}},
		}, {
			"text that is drawn twice is read once", helvetica,
			[]string{column(72, 700, 12, "Bold.") + column(72.2, 700, 12, "Bold.")},
			[]pdf.Block{{Lines: lines{"Bold."}}},
		}, {
			"signs above the line stay on it", helvetica,
			[]string{"BT /F1 12 Tf 72 700 Td (E = mc) Tj /F1 7 Tf 4 Ts (2) Tj 0 Ts /F1 12 Tf ( holds.) Tj ET"},
			[]pdf.Block{{Lines: lines{"E = mc2 holds."}}},
		}, {
			"codes are decoded", helvetica,
			[]string{`BT /F1 12 Tf 72 700 Td (caf\351 \200 \(a\) \\ \223q\224) Tj ET`},
			[]pdf.Block{{Lines: lines{"café € (a) \\ “q”"}}},
		}, {
			"glyphs are named", "/Font <</F1 <</Type /Font /Subtype /Type1 /BaseFont /X /FirstChar 65 /Widths [500 500 500 500 500]" +
				" /Encoding <</Differences [65 /ffi /uni0416 /e.alt /alpha /f_j]>>>>>>",
			[]string{"BT /F1 12 Tf 72 700 Td (ABCDE) Tj ET"},
			[]pdf.Block{{Lines: lines{"ffiЖeαfj"}}},
		}, {
			"codes of two bytes have a map", "/Font <</F1 <</Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode 5 0 R " +
				"/DescendantFonts [<</Subtype /CIDFontType2 /DW 600 /W [1 [500] 2 3 900]>>]>>>>",
			[]string{
				"BT /F1 12 Tf 72 700 Td <000100020003> Tj (\\000\\b) Tj <0010> Tj <00110012> Tj ET",
				// The second page is never drawn as such: its content is the map.
				"2 beginbfchar <0001> <004100660069> <0008> <0058> endbfchar 2 beginbfrange <0002> <0003> <4e2d> <0010> <0012> [<0020> <d83dde00> <fb01>] endbfrange",
			},
			[]pdf.Block{{Lines: lines{"Afi中丮X 😀fi"}}},
		}, {
			"identifiers of Japanese characters", composite("Identity-H", "Japan1"),
			[]string{show16("07d3037708cc072d027a002c0046005a00010018027b0764")},
			[]pdf.Block{{Lines: lines{"港の時計、Key 7。鍵"}}},
		}, {
			"identifiers of simplified Chinese characters", composite("Identity-H", "GB1"),
			[]string{show16("06d6096705a511d20e540a140d4510420b4d0062002c0046005a")},
			[]pdf.Block{{Lines: lines{"港口的钟停了十一年。Key"}}},
		}, {
			"identifiers of traditional Chinese characters", composite("Identity-H", "CNS1"),
			[]string{show16("0ca502790659165209fe02590264025303cb006613b3")},
			[]pdf.Block{{Lines: lines{"港口的鐘停了十一年。龜"}}},
		}, {
			"identifiers of Korean characters", composite("Identity-H", "Korea1"),
			[]string{show16("0ce604b30a4400010926048505d7000107650b7f05ee000f00010018")},
			[]pdf.Block{{Lines: lines{"항구의 시계는 멈췄다. 7"}}},
		}, {
			"Japanese codes of seven bits, downwards", composite("V", "Japan1"),
			[]string{"BT /F1 12 Tf 300 700 Td <39412443> Tj -16 0 Td <3b7e37577a> Tj ET"},
			[]pdf.Block{{Lines: lines{"港っ時計"}}},
		}, {
			"a blank below a glyph is none", helvetica,
			[]string{"BT /F1 12 Tf 72 700 Td (Inn) Tj 10.008 0 Td [( ) -278 (er)] TJ ET"},
			[]pdf.Block{{Lines: lines{"Inner"}}},
		}, {
			"a blank that word spacing closes is none", helvetica,
			[]string{"BT /F1 12 Tf 72 700 Td -3.3 Tw (fun ction of) Tj -1 Tw ( two) Tj 2 Tw ( words) Tj ET"},
			[]pdf.Block{{Lines: lines{"functionof two words"}}},
		}, {
			"a graphics state has a font", "/ExtGState <</G <</Font [<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> 12]>> /W <</LW 2>>>>",
			[]string{"/G gs BT 72 700 Td (Of the state,) Tj /W gs ( and kept.) Tj ET"},
			[]pdf.Block{{Lines: lines{"Of the state, and kept."}}},
		}, {
			"a sign that is mapped to a control character divides words", "/Font <</F1 <</Type /Font /Subtype /Type1 " +
				"/BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 3 0 R>>>>",
			[]string{"1 beginbfchar <2d> <0000> endbfchar", "BT /F1 12 Tf 72 700 Td (non-empty) Tj ET"},
			[]pdf.Block{{Lines: lines{"non empty"}}},
		}, {
			"marked content says what its text is", helvetica,
			[]string{"BT /F1 12 Tf 72 700 Td /Span <</ActualText (offer)>> BDC (xyz) Tj EMC ( two ) Tj /Span <</ActualText <feff0416>>> BDC (q) Tj EMC ET"},
			[]pdf.Block{{Lines: lines{"offer two Ж"}}},
		}, {
			"forms are drawn", "/XObject <</X 3 0 R>>",
			[]string{""},
			nil, // set below
		}, {
			"invisible text is read", helvetica,
			[]string{"3 Tr " + column(72, 700, 12, "Recognised text.")},
			[]pdf.Block{{Lines: lines{"Recognised text."}}},
		}, {
			"inline images are skipped", helvetica,
			[]string{"BI /W 1 /H 1 ID \x00(EI)\xff EI " + column(72, 700, 12, "After it.")},
			[]pdf.Block{{Lines: lines{"After it."}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := pages(tt.resources, tt.contents...)
			if tt.want == nil {
				f.objects[2] = "<</Type /XObject /Subtype /Form /Matrix [1 0 0 1 0 0] /Resources <<" + helvetica + ">> /Length 58>>\nstream\n" +
					"BT /F1 12 Tf 72 700 Td (In a form.) Tj ET                 \nendstream"
				f.objects[3] = "<</Type /Page /Parent 2 0 R /Contents 5 0 R>>"
				f.stream("", "/X Do")
				tt.want = []pdf.Block{{Lines: lines{"In a form."}}}
			}
			doc, err := read(t.Context(), f.bytes(""))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, doc.Blocks); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// composite returns resources with a font whose codes have several bytes and no map to text.
func composite(encoding, ordering string) string {
	return "/Font <</F1 <</Type /Font /Subtype /Type0 /Encoding /" + encoding +
		" /DescendantFonts [<</Subtype /CIDFontType0 /CIDSystemInfo <</Registry (Adobe) /Ordering (" + ordering + ")>>>>]>>>>"
}

func show16(codes string) string { return "BT /F1 12 Tf 72 700 Td <" + codes + "> Tj ET" }

func TestTitle(t *testing.T) {
	for value, want := range map[string]string{
		"(The clock)": "The clock", "<FEFF0427043004410438>": "Часи", "( untitled )": "", "(\\(anonymous\\))": "", "17": "", "9 0 R": "",
	} {
		doc, err := read(t.Context(), pages(helvetica, column(72, 700, 12, "Text.")).bytes("/Info <</Title "+value+">>"))
		if err != nil || doc.Title != "" {
			t.Errorf("title %s, direct: %q, %v", value, doc.Title, err)
		}
		f := pages(helvetica, column(72, 700, 12, "Text."))
		info := f.add("%s", "<</Title "+value+">>")
		doc, err = read(t.Context(), f.bytes("/Info "+info))
		if err != nil || doc.Title != want {
			t.Errorf("title %s: %q, %v", value, doc.Title, err)
		}
	}
}

func TestNoText(t *testing.T) {
	image := "q 595 0 0 842 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID \x7f EI Q"
	if _, err := read(t.Context(), pages("", image).bytes("")); !errors.Is(err, pdf.ErrNoText) {
		t.Errorf("error %v", err)
	}
}

// Text that is not where a producer would put it is still read completely.
func TestEveryWordIsRead(t *testing.T) {
	var contents, want []string
	for i, word := range strings.Fields("harbour clock keeper striking mechanism summer time office") {
		contents = append(contents, column(float64(50+i*60%300), float64(100+i*170%600), float64(8+i), word))
		want = append(want, word)
	}
	doc, err := read(t.Context(), pages(helvetica, strings.Join(contents, "")).bytes(""))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(strings.ReplaceAll(show(doc), "#", ""))[1:]
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
