package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"evalctl/daemon/convert/budget"
)

// fromHTML converts a page, or with mainText its main text.
func fromHTML(ctx context.Context, m *budget.Meter, base *url.URL, data []byte, mainText bool) (Document, error) {
	if bytes.HasPrefix(data, markPDF) {
		return Document{}, errors.New("it is a PDF: convert it as pdf")
	}
	text, err := decodeHTML(data)
	if err != nil {
		return Document{}, err
	}
	if err := countNodes(m, text, mainText); err != nil {
		return Document{}, err
	}
	root, err := html.Parse(&contextReader{ctx, bytes.NewReader(text)})
	if err != nil {
		return Document{}, fmt.Errorf("as HTML: %w", err)
	}
	w := htmlWriter{meter: m, base: baseOf(root, base), page: survey(root)}
	from := root
	if mainText {
		from = w.page.mainText(root)
	}
	w.node(from)
	w.flush()
	return Document{Title: titleOf(root), Markdown: w.out.String()}, w.err
}

// decodeHTML returns a page as UTF-8. It determines the charset as in the HTML standard (section
// 13.2.3, determining the character encoding): by a byte order mark, by visible UTF-16, by a meta
// element, by an XML declaration, and then by the text itself. A meta element after the first
// 1024 bytes counts if the text is not UTF-8.
func decodeHTML(data []byte) ([]byte, error) {
	charsetOf, name, certain := charset.DetermineEncoding(data, "")
	// The library does not say whether a meta element names windows-1252, which is also its last
	// resort.
	if !certain && (name == "windows-1252" || name == "utf-8") {
		if declared, label := declaredInXML(data); declared != nil {
			charsetOf, name = declared, label
		} else if utf8.Valid(data) {
			name = "utf-8"
		} else if name == "windows-1252" {
			charsetOf, name = declaredLate(data)
		}
	}
	if name != "utf-8" {
		decoded, err := charsetOf.NewDecoder().Bytes(data)
		if err != nil {
			return nil, fmt.Errorf("charset %s: %w", name, err)
		}
		data = decoded
	}
	// The first bytes of binary data are enough to detect it. Pages have at most one stray NUL.
	if head := data[:min(len(data), 1024)]; bytes.Count(head, []byte{0}) > 1 {
		return nil, errors.New("it is binary and not HTML: it contains NUL bytes")
	}
	return bytes.ToValidUTF8(bytes.TrimPrefix(data, markUTF8), []byte("\ufffd")), nil
}

// xmlDeclaration is one in the first bytes of a page, with its encoding.
var xmlDeclaration = regexp.MustCompile(`^<\?xml[^>]*?\sencoding\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')`)

// declaredInXML returns the encoding that an XML declaration shows or names. A declaration that can
// be read byte by byte is not UTF-16, whatever it says.
func declaredInXML(data []byte) (encoding.Encoding, string) {
	const searched = 1024
	head := data[:min(len(data), searched)]
	label := ""
	switch m := xmlDeclaration.FindSubmatch(head); {
	case bytes.HasPrefix(head, []byte("<\x00?\x00x\x00")):
		label = "utf-16le"
	case bytes.HasPrefix(head, []byte("\x00<\x00?\x00x")):
		label = "utf-16be"
	case m != nil:
		label = strings.TrimSpace(string(m[1]) + string(m[2]))
		if strings.HasPrefix(strings.ToLower(label), "utf-16") {
			label = "utf-8"
		}
	}
	return charset.Lookup(label)
}

// maxHead is how much of a page is searched for a meta element with its charset, in bytes.
const maxHead = 64 << 10

// declaredLate returns the encoding that the first meta element with a charset declares. It may
// be behind long scripts, and behind meta elements that only mention a charset. Without such an
// element, the encoding is windows-1252.
func declaredLate(data []byte) (encoding.Encoding, string) {
	z := html.NewTokenizer(bytes.NewReader(data[:min(len(data), maxHead)]))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		// DetermineEncoding would take other letters for a sign of UTF-8.
		tag := bytes.ToLower(ascii(z.Raw()))
		if bytes.Contains(tag, []byte("charset")) && declaresCharset(z) {
			declared, label, _ := charset.DetermineEncoding(tag, "")
			return declared, label
		}
	}
	return charset.Lookup("windows-1252")
}

// declaresCharset reports whether the tag at z is a meta element with the charset of its page.
func declaresCharset(z *html.Tokenizer) bool {
	name, more := z.TagName()
	if string(name) != "meta" {
		return false
	}
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "charset":
			return true
		case "http-equiv":
			if strings.EqualFold(string(value), "content-type") {
				return true
			}
		}
	}
	return false
}

// ascii returns data without the bytes that are not ASCII.
func ascii(data []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return -1
		}
		return r
	}, data)
}

// contextReader ends the parser with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// titleOf returns the title of a page without the name of the site, if a heading shows where the
// name begins. Otherwise it returns the page's title for social networks, or its first heading.
func titleOf(root *html.Node) string {
	var title, shared, heading string
	for n := range root.Descendants() {
		switch {
		case n.Type != html.ElementNode || n.Namespace != "":
		case n.DataAtom == atom.Title && title == "":
			title = oneLine(textOf(n), maxTitle)
		case n.DataAtom == atom.Meta && shared == "" && attribute(n, "property") == "og:title":
			shared = oneLine(attribute(n, "content"), maxTitle)
		case n.DataAtom == atom.H1 && heading == "":
			heading = oneLine(textOf(n), maxTitle)
		}
	}
	switch {
	case title == "" && shared != "":
		return shared
	case title == "":
		return heading
	}
	if rest, ok := strings.CutPrefix(title, heading); ok && heading != "" && strings.HasPrefix(rest, " ") {
		if sign, _, ok := strings.Cut(rest[1:], " "); ok && strings.ContainsAny(sign, "|-–—·:»") && utf8.RuneCountInString(sign) == 1 {
			return heading
		}
	}
	return title
}

// baseOf returns the URL against which links are resolved, nil if there is none.
func baseOf(root *html.Node, base *url.URL) *url.URL {
	for n := range root.Descendants() {
		if n.DataAtom == atom.Base && n.Namespace == "" {
			if u := resolve(base, attribute(n, "href")); u != nil {
				return u
			}
		}
	}
	return base
}

// resolve returns the target of a link, or nil if it cannot be kept: only absolute links to http,
// https and mailto can.
func resolve(base *url.URL, href string) *url.URL {
	const maxURL = 2048
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' || len(href) > maxURL {
		return nil
	}
	u, err := url.Parse(href)
	if err != nil {
		return nil
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	switch {
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
	case u.Scheme == "mailto" && u.Opaque != "":
	default:
		return nil
	}
	if len(u.String()) > maxURL {
		return nil
	}
	return u
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// textOf returns the text of an element, of dropped parts as well.
func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}
