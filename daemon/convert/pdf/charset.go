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
// The codes in a string are codes of the charset, so their text is known without the CMap.
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

// charset decodes the codes of a composite font.
type charset struct {
	*xtext.Decoder
	high byte // is set in each byte first
}

// charsetOf returns the charset of a predefined CMap, or nil if it has none or an unknown one.
func charsetOf(name string) *charset {
	switch {
	case name == "H", name == "V": // JIS X 0208, whose bytes have seven bits
		return &charset{japanese.EUCJP.NewDecoder(), 0x80}
	case strings.HasPrefix(name, "CNS-EUC"): // golang.org/x/text does not have its charset, EUC-TW
		return nil
	}
	for _, c := range charsets {
		if strings.Contains(name, c.part) {
			return newCharset(c.charset)
		}
	}
	return nil
}

func newCharset(e xtext.Encoding) *charset { return &charset{Decoder: e.NewDecoder()} }

// next returns the text of the first code of a string, and the length of the code in bytes. The
// text is empty if there is no such code.
func (c *charset) next(s []byte) (text string, n int) {
	var code [4]byte
	for n = 1; n <= min(len(code), len(s)); n++ {
		code[n-1] = s[n-1] | c.high
		decoded, err := c.Bytes(code[:n])
		if r, size := utf8.DecodeRune(decoded); err == nil && r != utf8.RuneError && size == len(decoded) {
			return string(decoded), n
		}
	}
	return "", min(2, len(s))
}
