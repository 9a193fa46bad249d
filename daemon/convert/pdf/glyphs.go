package pdf

import (
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/encoding/charmap"
)

// glyphNames has the text of glyphs by their names in fonts, except letters, which are named after
// themselves. The names are from the Adobe Glyph List and the fonts of TeX.
var glyphNames = sync.OnceValue(func() map[string]string {
	names := map[string]string{
		"space": " ", "nbspace": " ", "nonbreakingspace": " ", "visiblespace": " ",
		"ff": "ff", "fi": "fi", "fl": "fl", "ffi": "ffi", "ffl": "ffl", "f_f": "ff", "f_i": "fi", "f_l": "fl",
		"f_f_i": "ffi", "f_f_l": "ffl", "t_t": "tt", "T_h": "Th", "IJ": "IJ", "ij": "ij",
	}
	for _, pairs := range []string{punctuation, accented, greek, mathematics} {
		fields := strings.Fields(pairs)
		for i := 0; i+1 < len(fields); i += 2 {
			names[fields[i]] = fields[i+1]
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		names[string(c)], names[string(c+32)] = string(c), string(c+32)
	}
	return names
})

const punctuation = `exclam ! quotedbl " numbersign # dollar $ percent % ampersand & quotesingle ' parenleft ( parenright )
asterisk * plus + comma , hyphen - minus − period . slash / zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8
nine 9 colon : semicolon ; less < equal = greater > question ? at @ bracketleft [ backslash \ bracketright ] asciicircum ^
underscore _ grave ` + "`" + ` braceleft { bar | braceright } asciitilde ~ exclamdown ¡ cent ¢ sterling £ currency ¤ yen ¥
brokenbar ¦ section § dieresis ¨ copyright © ordfeminine ª guillemotleft « logicalnot ¬ registered ® macron ¯ degree °
plusminus ± twosuperior ² threesuperior ³ acute ´ mu µ paragraph ¶ periodcentered · middot · cedilla ¸ onesuperior ¹
ordmasculine º guillemotright » onequarter ¼ onehalf ½ threequarters ¾ questiondown ¿ quoteleft ‘ quoteright ’
quotedblleft “ quotedblright ” quotesinglbase ‚ quotedblbase „ guilsinglleft ‹ guilsinglright › fraction ⁄ florin ƒ
endash – emdash — sfthyphen - softhyphen - dagger † daggerdbl ‡ bullet • ellipsis … perthousand ‰ Euro € trademark ™
circumflex ^ tilde ~ caron ˇ breve ˘ dotaccent ˙ ring ˚ hungarumlaut ˝ ogonek ˛ dotlessi ı dotlessj ȷ germandbls ß
numero № figuredash ‒ horizontalbar ― minute ′ second ″ estimated ℮ perzero ‰ rangedash – punctdash — visualspace ␣`

const accented = `AE Æ ae æ OE Œ oe œ Oslash Ø oslash ø Lslash Ł lslash ł Eth Ð eth ð Thorn Þ thorn þ Aring Å aring å
Aacute Á Agrave À Acircumflex Â Adieresis Ä Atilde Ã aacute á agrave à acircumflex â adieresis ä atilde ã Ccedilla Ç
ccedilla ç Eacute É Egrave È Ecircumflex Ê Edieresis Ë eacute é egrave è ecircumflex ê edieresis ë Iacute Í Igrave Ì
Icircumflex Î Idieresis Ï iacute í igrave ì icircumflex î idieresis ï Ntilde Ñ ntilde ñ Oacute Ó Ograve Ò Ocircumflex Ô
Odieresis Ö Otilde Õ oacute ó ograve ò ocircumflex ô odieresis ö otilde õ Scaron Š scaron š Uacute Ú Ugrave Ù
Ucircumflex Û Udieresis Ü uacute ú ugrave ù ucircumflex û udieresis ü Yacute Ý yacute ý Ydieresis Ÿ ydieresis ÿ
Zcaron Ž zcaron ž Abreve Ă abreve ă Amacron Ā amacron ā Aogonek Ą aogonek ą Cacute Ć cacute ć Ccaron Č ccaron č Dcaron Ď
dcaron ď Dcroat Đ dcroat đ Ecaron Ě ecaron ě Emacron Ē emacron ē Eogonek Ę eogonek ę Edotaccent Ė edotaccent ė Gbreve Ğ
gbreve ğ Idotaccent İ Imacron Ī imacron ī Iogonek Į iogonek į Lacute Ĺ lacute ĺ Lcaron Ľ lcaron ľ Nacute Ń nacute ń
Ncaron Ň ncaron ň Ohungarumlaut Ő ohungarumlaut ő Omacron Ō omacron ō Racute Ŕ racute ŕ Rcaron Ř rcaron ř Sacute Ś
sacute ś Scedilla Ş scedilla ş Scommaaccent Ș scommaaccent ș Tcaron Ť tcaron ť Tcommaaccent Ț tcommaaccent ț
Uhungarumlaut Ű uhungarumlaut ű Umacron Ū umacron ū Uogonek Ų uogonek ų Uring Ů uring ů Zacute Ź zacute ź
Zdotaccent Ż zdotaccent ż Eng Ŋ eng ŋ`

const greek = `Alpha Α Beta Β Gamma Γ Delta Δ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ
Omicron Ο Pi Π Rho Ρ Sigma Σ Tau Τ Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω alpha α beta β gamma γ delta δ epsilon ε
epsilon1 ϵ zeta ζ eta η theta θ theta1 ϑ iota ι kappa κ lambda λ nu ν xi ξ omicron ο pi π pi1 ϖ rho ρ rho1 ϱ sigma σ
sigma1 ς tau τ upsilon υ phi φ phi1 ϕ chi χ psi ψ omega ω Ohm Ω`

const mathematics = `multiply × divide ÷ lessequal ≤ greaterequal ≥ notequal ≠ approxequal ≈ equivalence ≡ similar ∼
proportional ∝ infinity ∞ partialdiff ∂ gradient ∇ summation ∑ summationtext ∑ summationdisplay ∑ product ∏ producttext ∏
productdisplay ∏ integral ∫ integraltext ∫ integraldisplay ∫ radical √ radicalbig √ element ∈ notelement ∉ owner ∋
emptyset ∅ union ∪ intersection ∩ reflexsubset ⊆ propersubset ⊂ propersuperset ⊃ reflexsuperset ⊇ logicaland ∧
logicalor ∨ universal ∀ existential ∃ arrowright → arrowleft ← arrowup ↑ arrowdown ↓ arrowboth ↔ arrowdblright ⇒
arrowdblleft ⇐ arrowdblboth ⇔ mapsto ↦ asteriskmath ∗ dotmath · circleplus ⊕ circlemultiply ⊗ angbracketleft ⟨
angbracketright ⟩ ceilingleft ⌈ ceilingright ⌉ floorleft ⌊ floorright ⌋ prime ′ lscript ℓ weierstrass ℘ aleph ℵ
parenleftbig ( parenrightbig ) bracketleftbig [ bracketrightbig ] parenleftBig ( parenrightBig ) openbullet ◦
lozenge ◊ perpendicular ⊥ congruent ≅ therefore ∴ angle ∠ minusplus ∓ braceleftbig { bracerightbig } bardbl ‖
square ■ blacksquare ■ checkmark ✓ triangle △ star ⋆ diamond ◆ circle ○ H22073 □ filledbox ■`

// standardNames has the glyphs of StandardEncoding where it differs from ASCII, from 0xA1.
var standardNames = strings.Fields(`exclamdown cent sterling fraction yen florin section currency quotesingle quotedblleft
guillemotleft guilsinglleft guilsinglright fi fl . endash dagger daggerdbl periodcentered . paragraph bullet quotesinglbase
quotedblbase quotedblright guillemotright ellipsis perthousand . questiondown . grave acute circumflex tilde macron breve
dotaccent dieresis . ring cedilla . hungarumlaut ogonek caron emdash . . . . . . . . . . . . . . . . AE . ordfeminine . . . .
Lslash Oslash OE ordmasculine . . . . . ae . . . dotlessi . . lslash oslash oe germandbls . . . .`)

// encoding has the text of the codes of a simple font.
type encoding [256]string

func standardEncoding() *encoding {
	var e encoding
	for c := ' '; c <= '~'; c++ {
		e[c] = string(c)
	}
	e['\''], e['`'] = "’", "‘"
	for i, name := range standardNames {
		if name != "." {
			e[0xa1+i] = glyphText(name)
		}
	}
	return &e
}

// encodingOf returns the encoding of a font that has none of its own.
func encodingOf(name string) *encoding {
	// A prefix of six letters marks a part of a font.
	if _, after, ok := strings.Cut(name, "+"); ok {
		name = after
	}
	switch {
	case name == "ZapfDingbats":
		var e encoding
		for c := '!'; c <= '~'; c++ {
			e[c] = string('✀' + c - ' ')
		}
		for c, text := range map[byte]string{'%': "☎", '*': "☛", '+': "☞", 'H': "★", 'l': "●", 'n': "■", 's': "▲", 't': "▼", 'u': "◆", 'w': "◗"} {
			e[c] = text
		}
		return &e
	case strings.HasPrefix(name, "Symbol"):
		e := standardEncoding()
		for i, text := range strings.Fields(symbolUpper) {
			e['A'+i] = text
		}
		for i, text := range strings.Fields(symbolLower) {
			e['a'+i] = text
		}
		for c, text := range map[byte]string{0xa3: "≤", 0xa5: "∞", 0xab: "↔", 0xac: "←", 0xad: "↑", 0xae: "→", 0xaf: "↓", 0xb0: "°",
			0xb1: "±", 0xb3: "≥", 0xb4: "×", 0xb6: "∂", 0xb7: "•", 0xb8: "÷", 0xb9: "≠", 0xba: "≡", 0xbb: "≈", 0xbc: "…", 0xc5: "⊕",
			0xc6: "∅", 0xc7: "∩", 0xc8: "∪", 0xcc: "⊂", 0xcd: "⊆", 0xce: "∈", 0xcf: "∉", 0xd1: "∇", 0xd5: "∏", 0xd6: "√", 0xd7: "⋅",
			0xde: "⇒", 0xe5: "∑", 0xf2: "∫"} {
			e[c] = text
		}
		return e
	}
	return standardEncoding()
}

const (
	symbolUpper = "Α Β Χ Δ Ε Φ Γ Η Ι ϑ Κ Λ Μ Ν Ο Π Θ Ρ Σ Τ Υ ς Ω Ξ Ψ Ζ"
	symbolLower = "α β χ δ ε φ γ η ι ϕ κ λ μ ν ο π θ ρ σ τ υ ϖ ω ξ ψ ζ"
)

func charmapEncoding(m *charmap.Charmap) *encoding {
	var e encoding
	for i := 32; i < 256; i++ {
		if r := m.DecodeByte(byte(i)); r != '�' && r >= ' ' && (r < 0x7f || r >= 0xa0) {
			e[i] = string(r)
		}
	}
	return &e
}

// glyphText returns the text of a glyph by its name, or "" for an unknown name.
func glyphText(name string) string {
	if text, ok := glyphNames()[name]; ok {
		return text
	}
	// The part after a full stop names a form of the glyph. Underscores join the parts of a
	// ligature.
	if base, _, ok := strings.Cut(name, "."); ok && base != "" {
		return glyphText(base)
	}
	if first, rest, ok := strings.Cut(name, "_"); ok && first != "" && rest != "" && len(name) < 64 {
		return glyphText(first) + glyphText(rest)
	}
	for prefix, digits := range map[string]int{"uni": 4, "u": 0} {
		hex, ok := strings.CutPrefix(name, prefix)
		if !ok || len(hex) < 4 || len(hex) > 6 || digits > 0 && len(hex) != digits {
			continue
		}
		if n, err := strconv.ParseUint(hex, 16, 32); err == nil && n >= ' ' && n <= 0x10ffff && (n < 0xd800 || n > 0xdfff) {
			return string(rune(n))
		}
	}
	return ""
}

// bitmapText returns the text of a glyph of a bitmap font. TeX names them "a" and their number.
func bitmapText(name string) string {
	digits, ok := strings.CutPrefix(name, "a")
	n, err := strconv.ParseUint(digits, 10, 8)
	if !ok || err != nil {
		return glyphText(name)
	}
	return texEncoding()[n]
}

// texEncoding has the text of the codes of a font of TeX, in its encoding T1.
var texEncoding = sync.OnceValue(func() *encoding {
	var e encoding
	for c := '!'; c <= '~'; c++ {
		e[c] = string(c)
	}
	for c := 'À'; c <= 'ÿ'; c++ {
		e[c] = string(c)
	}
	for i, text := range strings.Fields("“ ” „ « » – —") {
		e[16+i] = text
	}
	for i, text := range strings.Fields("ff fi fl ffi ffl") {
		e[27+i] = text
	}
	e['`'], e['\''], e[127], e[215], e[223], e[247], e[255] = "‘", "’", "-", "Œ", "SS", "œ", "ß"
	return &e
})
