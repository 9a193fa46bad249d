package mapping

import (
	"strings"
)

// The words in the names of operations, best first.
var (
	rememberWords = []string{"remember", "add", "store", "save", "create", "write", "insert", "put", "append", "new", "record", "log", "ingest", "upsert", "index", "text", "memories", "documents", "memory"}
	searchWords   = []string{"search", "recall", "query", "find", "retrieve", "lookup", "ask", "get"}
	getWords      = []string{"get", "read", "open", "fetch", "view", "retrieve", "show"}
	deleteWords   = []string{"delete", "forget", "remove"}
	updateWords   = []string{"update", "edit", "replace", "modify", "put"}
	finishWords   = []string{"upsert", "commit", "flush", "refresh", "index", "reindex", "build", "sync"}
)

// The names of arguments by meaning, folded. If a name has several meanings, the order of the roles
// decides.
var (
	textArguments = []string{"content", "text", "memory", "note", "observations", "observation", "body", "data", "document", "fact", "message", "value", "contents",
		"documents", "texts", "memories", "facts", "information", "entry", "knowledge", "notes", "description", "input", "messages"}
	queryArguments = []string{"query", "q", "question", "searchquery", "querytext", "querytexts", "queries", "search", "keywords", "keyword", "terms", "term", "words", "text", "prompt", "input", "pattern"}
	idArguments    = []string{"id", "key", "memoryid", "documentid", "docid", "docids", "noteid", "entryid", "itemid", "contenthash", "hash", "uuid", "ids", "memoryids", "keys", "identifier", "identifiers",
		"name", "names", "path", "filename", "filepath", "filesource", "source", "slug", "entitynames", "permalink", "uri"}
	spaceArguments = []string{"brain", "project", "projectname", "projectid", "userid", "user", "namespace", "collection", "collectionname", "agentid", "space", "workspace", "tenant", "groupid", "bank", "bankid"}
	topKArguments  = []string{"topk", "limit", "k", "n", "nresults", "maxresults", "numresults", "count", "pagesize", "chunktopk", "size", "maxitems"}
	dateArguments  = []string{"date", "timestamp", "createdat", "occurredat", "when", "time"}
	titleArguments = []string{"title", "subject", "heading"}
)

// role is the meaning of an argument, with its names and its placeholder.
type role struct {
	names       []string
	placeholder string
}

var (
	textRole  = role{textArguments, "{text}"}
	queryRole = role{queryArguments, "{query}"}
	idRole    = role{idArguments, "{id}"}
	nameRole  = role{idArguments, "{name}"}
	spaceRole = role{spaceArguments, "{brain}"}
	topKRole  = role{topKArguments, "{top_k}"}
	dateRole  = role{dateArguments, "{date}"}
	titleRole = role{titleArguments, "{title}"}
	// A required title, for documents that may have none.
	anyTitleRole = role{titleArguments, "Document {name}"}
)

// folded returns an argument name in the form used in the lists.
func folded(name string) string { return strings.Join(wordsIn(strings.ToLower(name)), "") }

// value returns the placeholder in the form that a schema requires: as it is, or as a list of one.
func (r role) value(s schema) (any, bool) {
	numeric := s.is("number") || s.is("integer")
	switch {
	case s.is("array") && s.Items != nil && (s.Items.is("string") || len(s.Items.Type) == 0 && len(s.Items.Properties) == 0) && r.placeholder != "{top_k}":
		return []any{r.placeholder}, true
	case len(s.Enum) > 0:
		return nil, false
	case r.placeholder == "{top_k}":
		return r.placeholder, numeric
	case s.is("string"), len(s.Type) == 0 && len(s.Properties) == 0:
		return r.placeholder, true
	}
	return nil, false
}
