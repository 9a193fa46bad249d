package pdf

import (
	"strings"
	"unicode/utf8"

	xtext "golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// charsets are the charsets of predefined CMaps, by a part of their names (ISO 32000-2, table 116).
// The codes in a string are those of the charset, so their text is known without the CMap.
var charsets = []struct {
	part    string
	charset xtext.Encoding
}{
	{"UTF16", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
	{"UCS2", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
	{"UTF32", utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)},
	{"UTF8", unicode.UTF8},
	{"GBK2K", simplifiedchinese.GB18030},
	{"GB", simplifiedchinese.GBK},
	{"B5", traditionalchinese.Big5},
	{"RKSJ", japanese.ShiftJIS},
	{"KSC", korean.EUCKR},
	{"EUC-", japanese.EUCJP},
}

// readCharset sets what the name of a predefined CMap says of a composite font.
func (f *textFont) readCharset(name string) {
	f.vertical = strings.HasSuffix(name, "-V")
	if strings.HasPrefix(name, "CNS-EUC") {
		return // its charset, EUC-TW, is none of golang.org/x/text
	}
	for _, c := range charsets {
		if strings.Contains(name, c.part) {
			f.charset = c.charset.NewDecoder()
			return
		}
	}
}

// decode returns the text of the first code of a string, and the length of the code in bytes. The
// text is empty if there is no such code.
func decode(charset *xtext.Decoder, s []byte) (text string, n int) {
	for n = 1; n <= min(4, len(s)); n++ {
		decoded, err := charset.Bytes(s[:n])
		if err == nil && utf8.RuneCount(decoded) == 1 && !strings.ContainsRune(string(decoded), utf8.RuneError) {
			return string(decoded), n
		}
	}
	return "", min(2, len(s))
}
