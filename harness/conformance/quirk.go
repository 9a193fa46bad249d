package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
)

// quirks are what a daemon adds to every listing. One check is about each of them. For all other
// checks they are removed from responses, so that one defect is one finding.
type quirks struct {
	// own are paths that the daemon created by itself.
	own []string
	// folders is set if recursive listings have rows for folders.
	folders bool
}

// probeQuirks writes a document to an empty brain and looks at its listing. A daemon that cannot do
// that has no known quirks.
func (d *target) probeQuirks(ctx context.Context, brain string) quirks {
	const written = "conformance/probe.md"
	c := &client{target: d, brain: brain}
	// The listing shows what there is, with or without the document. Some daemons create the files of
	// an index at the first search.
	_ = c.run(ctx, put(written, "probe"), send(searchOf(object{"query": "probe"})))
	res, err := c.do(ctx, listOf("recursive", "true", "include_generated", "true"))
	if err != nil || res.status != http.StatusOK {
		return quirks{}
	}
	var listing struct {
		Items []struct {
			Path  string `json:"path"`
			IsDir bool   `json:"is_dir"`
		} `json:"items"`
	}
	if json.Unmarshal(res.body, &listing) != nil {
		return quirks{}
	}
	var q quirks
	for _, item := range listing.Items {
		switch {
		case item.Path == path.Dir(written) && item.IsDir:
			q.folders = true
		case item.Path != written:
			q.own = append(q.own, item.Path)
		}
	}
	return q
}

// texts says what is removed from responses.
func (q quirks) texts() []string {
	var all []string
	if len(q.own) > 0 {
		all = append(all, fmt.Sprintf("files that the daemon adds are removed from listings: %s", strings.Join(q.own, ", ")))
	}
	if q.folders {
		all = append(all, "rows of folders are removed from recursive listings")
	}
	return all
}

func (q quirks) none() bool { return len(q.own) == 0 && !q.folders }

// isOwn reports whether the daemon creates a path by itself. Files of a database come and go with a
// suffix, such as a.db-wal.
func (q quirks) isOwn(p string) bool {
	return slices.ContainsFunc(q.own, func(own string) bool {
		stem, _, _ := strings.Cut(path.Base(own), "-")
		return p == own || stem != "" && path.Dir(p) == path.Dir(own) && strings.HasPrefix(path.Base(p), stem)
	})
}

// removeFrom removes the quirks from the response to a listing.
func (q quirks) removeFrom(r request, res *response) {
	if q.none() || r.verbatim || r.atRoot || r.method != http.MethodGet || r.path != "/documents" ||
		res.status != http.StatusOK {
		return
	}
	o, err := res.object()
	items, ok := o["items"].([]any)
	if err != nil || !ok {
		return
	}
	isRecursive := strings.Contains(r.query, "recursive=true")
	o["items"] = slices.DeleteFunc(items, func(item any) bool {
		entry, _ := item.(object)
		p, _ := entry["path"].(string)
		return q.isOwn(p) || q.folders && isRecursive && entry["is_dir"] == true
	})
	res.body = encode(o)
}
