package spelling

import "strings"

// Camel returns a name in snake_case in camelCase.
func Camel(name string) string {
	var b strings.Builder
	for i, part := range strings.Split(name, "_") {
		if i > 0 && part != "" {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		b.WriteString(part)
	}
	return b.String()
}
