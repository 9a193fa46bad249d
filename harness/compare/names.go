package compare

import (
	"path/filepath"
	"slices"
	"strings"
)

// Names returns a short, distinct name for each result: the SDKs if they are distinct, else the
// ends of the paths, without their common suffix and with as many folders as needed. sdks has an
// empty string for a result without one. The paths must differ.
func Names(paths, sdks []string) []string {
	if !slices.Contains(sdks, "") && distinct(sdks) {
		return slices.Clone(sdks)
	}
	parts := make([][]string, len(paths))
	most := 0
	for i, p := range paths {
		slashed := filepath.ToSlash(filepath.Clean(p))
		parts[i] = strings.Split(strings.TrimSuffix(slashed, filepath.Ext(slashed)), "/")
		most = max(most, len(parts[i]))
	}
	for sameEnd(parts) {
		for i, p := range parts {
			parts[i] = p[:len(p)-1]
		}
	}
	names := make([]string, len(paths))
	for k := 1; k <= most; k++ {
		for i, p := range parts {
			names[i] = strings.Join(p[max(0, len(p)-k):], "/")
		}
		if distinct(names) {
			return names
		}
	}
	return slices.Clone(paths) // they differ in their extensions
}

// sameEnd reports whether all paths share their last part and have another part before it.
func sameEnd(parts [][]string) bool {
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(p []string) bool {
		return len(p) < 2 || p[len(p)-2] == "" || p[len(p)-1] != parts[0][len(parts[0])-1]
	})
}

func distinct(names []string) bool {
	sorted := slices.Sorted(slices.Values(names))
	return len(slices.Compact(sorted)) == len(names)
}
