package pdf

import (
	xtext "golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// collection is a character collection of Adobe, which numbers the characters of a charset in their
// order, with some left out. It is needed for fonts that have no ToUnicode and whose codes are
// these numbers (CIDs).
type collection struct {
	charset xtext.Encoding
	row     uint32 // characters in a row of the charset: 94, or 157 in Big5
	narrow  uint32 // the CID of the space of half the width, whose ASCII follows
	runs    []cidRun
}

// cidRun has n characters in the order of the charset. The first one has the CID cid, and is at a
// place of the charset, counted from its first row.
type cidRun struct{ cid, place, n uint32 }

// collections are by the Ordering of their fonts. They have the characters of JIS X 0208, of GB
// 2312, of Big5 without a few, and of KS X 1001 without its Chinese characters.
var collections = map[string]*collection{
	"Japan1": {japanese.EUCJP, 94, 231, []cidRun{
		{633, 0, 108}, {756, 153, 15}, {780, 203, 10}, {790, 220, 26}, {816, 252, 26}, {842, 282, 83},
		{925, 376, 86}, {1011, 470, 24}, {1035, 502, 24}, {1059, 564, 33}, {1092, 612, 33},
		{1125, 1410, 2965}, {4090, 4418, 3388},
	}},
	"GB1": {simplifiedchinese.GBK, 94, 814, []cidRun{
		{96, 0, 94}, {190, 110, 50}, {240, 162, 10}, {250, 174, 12}, {262, 188, 177}, {439, 376, 86},
		{525, 470, 24}, {549, 502, 53}, {602, 564, 33}, {635, 612, 33}, {668, 658, 32}, {700, 694, 38},
		{738, 755, 76}, {940, 1410, 3755}, {4695, 5170, 3008},
	}},
	"CNS1": {traditionalchinese.Big5, 157, 13648, []cidRun{
		{99, 0, 25}, {128, 29, 119}, {249, 150, 254}, {562, 408, 33}, {595, 471, 1412}, {2007, 1884, 424},
		{2432, 2308, 1876}, {4309, 4184, 387}, {4696, 4572, 525}, {5222, 5097, 189}, {5411, 5287, 84},
		{5496, 5371, 54}, {5552, 5427, 90}, {5642, 5518, 354}, {6006, 6291, 33}, {6040, 6324, 48},
		{6088, 6373, 46}, {6135, 6419, 167}, {6302, 6587, 1840}, {8143, 8428, 108}, {8251, 8537, 537},
		{8789, 9075, 100}, {8890, 9175, 399}, {9289, 9575, 1637}, {10927, 11212, 146}, {11074, 11358, 287},
		{11362, 11645, 116}, {11478, 11762, 137}, {11615, 11900, 104}, {11720, 12004, 222},
		{11942, 12227, 198}, {12140, 12426, 82}, {12222, 12509, 86}, {12317, 12604, 153}, {12470, 12758, 56},
		{12527, 12814, 113}, {12641, 12927, 142}, {12784, 13069, 45}, {12829, 13115, 71}, {12901, 13186, 194},
		{13095, 13381, 490}, {13586, 13871, 43},
	}},
	"Korea1": {korean.EUCKR, 94, 8094, []cidRun{
		{101, 0, 163}, {264, 188, 145}, {409, 334, 52}, {461, 391, 10}, {471, 408, 24}, {495, 440, 24},
		{519, 470, 68}, {587, 564, 79}, {679, 674, 255}, {934, 940, 86}, {1020, 1034, 33}, {1053, 1082, 33},
		{1086, 1410, 2350},
	}},
}

// numbers are the CIDs of a font.
type numbers struct {
	*collection
	decoder *charset
}

// numbersOf returns the CIDs of an Ordering, nil for an unknown one.
func numbersOf(ordering string) *numbers {
	c := collections[ordering]
	if c == nil {
		return nil
	}
	return &numbers{c, newCharset(c.charset)}
}

// text returns the text of a CID, "" for an unknown one.
func (c *numbers) text(cid uint32) string {
	const ascii = '~' - ' ' + 1
	if c == nil {
		return ""
	}
	for _, space := range []uint32{1, c.narrow} {
		if cid >= space && cid < space+ascii {
			return string(rune(' ' + cid - space))
		}
	}
	for _, run := range c.runs {
		if cid >= run.cid && cid < run.cid+run.n {
			text, _ := c.decoder.next(c.code(run.place + cid - run.cid))
			return text
		}
	}
	return ""
}

// code returns the code at a place of the charset.
func (c *collection) code(place uint32) []byte {
	first, second := 0xa1+place/c.row, 0xa1+place%c.row
	if c.row > 94 { // the first 63 codes of a row are before 0x7f
		if second -= 0xa1 - 0x40; second > 0x7e {
			second += 0xa1 - 0x7f
		}
	}
	return []byte{byte(first), byte(second)}
}
