package prose

import "strings"

// Fence tracks the fenced code of Markdown line by line, as CommonMark 0.31.2 describes it. The zero
// value is outside.
type Fence struct {
	mark byte
	size int
}

// Inside reports whether the next line belongs to fenced code, including its fences.
func (f *Fence) Inside(line string) bool {
	s := strings.TrimLeft(line, " ")
	run := 0
	if len(line)-len(s) <= 3 && s != "" && (s[0] == '`' || s[0] == '~') {
		run = len(s) - len(strings.TrimLeft(s, s[:1]))
	}
	rest := strings.TrimSpace(s[run:])
	switch {
	case f.size > 0:
		if run >= f.size && s[0] == f.mark && rest == "" {
			f.size = 0
		}
		return true
	// An info string with a backtick is inline code, not a fence.
	case run >= 3 && (s[0] == '~' || !strings.Contains(rest, "`")):
		f.mark, f.size = s[0], run
		return true
	}
	return false
}

// WithoutCode returns Markdown without its fenced blocks, however far they are indented. A fence
// that is never closed does not begin one.
func WithoutCode(markdown string) string {
	lines := strings.SplitAfter(markdown, "\n")
	var b strings.Builder
	unclosed := map[byte]int{} // the smallest fence of a mark that nothing closes
	for i := 0; i < len(lines); i++ {
		var fence Fence
		code := fence.Inside(strings.TrimSpace(lines[i]))
		mark, size := fence.mark, fence.size
		if least := unclosed[mark]; !code || least > 0 && size >= least {
			b.WriteString(lines[i])
			continue
		}
		end := i + 1
		for ; end < len(lines); end++ {
			if fence.Inside(strings.TrimSpace(lines[end])); fence.size == 0 {
				break
			}
		}
		if end < len(lines) {
			b.WriteString("\n") // what comes before does not go on after it
			i = end
			continue
		}
		unclosed[mark] = size
		b.WriteString(lines[i])
	}
	return b.String()
}
