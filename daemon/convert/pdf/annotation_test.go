package pdf_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// formField returns a file with an interactive form: a page with a field that has the entries.
func formField(form, entries string) []byte {
	f := pages(helvetica, column(72, 700, 12, "Of the page."))
	f.objects[0] = "<</Type /Catalog /Pages 2 0 R /AcroForm <<" + form + ">>>>"
	f.objects[3] = "<</Type /Page /Parent 2 0 R /Contents 3 0 R " +
		"/Annots [<</Subtype /Widget /Rect [72 500 272 520] " + entries + ">>]>>"
	f.add("<</FT /Tx /DA (/Helv 9 Tf) /V (Of its parent.)>>")
	f.stream("/Subtype /Form /BBox [0 0 200 20]", "/Tx BMC EMC")
	f.stream("/Subtype /Form /BBox [0 0 200 20] /Resources <<"+helvetica+">>",
		"BT /F1 12 Tf (Of its appearance.) Tj ET")
	return f.bytes("")
}

func TestFieldsShowTheirValues(t *testing.T) {
	const empty, drawn = " /AP <</N 6 0 R>>", " /AP <</N 7 0 R>>"
	tests := []struct {
		name, form, field string
		want              []string
	}{
		{"text", "", "/FT /Tx /DA (/Helv 12 Tf) /V (Its value.)", []string{"Its value."}},
		{"lines", "", "/FT /Tx /V (One.\\rTwo.\\r\\nThree.)", []string{"One. Two. Three."}},
		{"UTF-16", "", "/FT /Tx /V <feff0416>", []string{"Ж"}},
		{"of a parent", "", "/Parent 5 0 R", []string{"Of its parent."}},
		{"with an appearance", "/NeedAppearances true", "/FT /Tx /V (Its value.)" + drawn,
			[]string{"Of its appearance."}},
		{"with an empty appearance", "", "/FT /Tx /V (Its value.)" + empty, nil},
		{"that needs an appearance", "/NeedAppearances true", "/FT /Tx /V (Its value.)" + empty,
			[]string{"Its value."}},
		{"a choice", "", "/FT /Ch /Opt [(fr) (German)] /V (German)", []string{"German"}},
		{"a stored choice", "", "/FT /Ch /Opt [[(fr) (French)] [(de) (German)]] /V (de)", []string{"German"}},
		{"choices", "", "/FT /Ch /Opt [(a) (b) (c)] /V [(a) (c)]", []string{"a c"}},
		{"a password", "", "/FT /Tx /Ff 8192 /V (secret)", nil},
		{"hidden", "", "/FT /Tx /F 2 /V (Its value.)", nil},
		{"a button", "", "/FT /Btn /V /Yes", nil},
		{"without a value", "", "/FT /Tx", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc, err := read(t.Context(), formField(tt.form, tt.field))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, block := range doc.Blocks[1:] {
				got = append(got, strings.Join(block.Lines, " "))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || doc.Blocks[0].Lines[0] != "Of the page." {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestManyFields reads forms in which many fields share what is large.
func TestManyFields(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	for name, field := range map[string]string{
		"value":   "/FT /Tx /V 8 0 R",
		"choices": "/FT /Ch /Opt 9 0 R /V (none)",
		"values":  "/FT /Ch /V 9 0 R",
	} {
		t.Run(name, func(t *testing.T) {
			f := pages(helvetica, "")
			f.objects[3] = "<</Type /Page /Parent 2 0 R /Annots [" +
				strings.Repeat("<</Subtype /Widget /Rect [0 0 9 9] "+field+">> ", 1<<14) + "]>>"
			f.objects = append(f.objects, "null", "null", "null")
			f.add("(%s)", strings.Repeat("word ", 1<<14))
			f.add("[%s]", strings.Repeat("[(a) (b)] ", 1<<14))
			doc, err := read(t.Context(), f.bytes(""))
			if err == nil || !strings.Contains(err.Error(), "more") {
				t.Errorf("%d blocks, error %v", len(doc.Blocks), err)
			}
		})
	}
}
