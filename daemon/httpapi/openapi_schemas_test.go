package httpapi

import (
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"evalctl/daemon/protocol"
)

// components are the Go types that have a schema of the same name in openapi.json. Fields, their
// types and which of them are required (those without omitempty) follow from the Go type; the
// rules add limits and descriptions, or replace what the type implies.
var components = map[reflect.Type][]rule{
	reflect.TypeFor[protocol.Problem](): {
		require("status", "title", "code"),
		field("status", between(400, 599)),
		field("code", doc("Accept unknown codes, and fall back to the status.")),
		field("pending", least(1), doc("What is still to be done until the request can succeed, such as passages to embed.")),
	},
	reflect.TypeFor[protocol.Indexing](): {
		doc("How far the index of the brain is with the documents that it lacks."),
		field("documents_done", least(0)),
		field("documents_total", least(0), doc("0 until it is known.")),
		field("bytes_done", least(0)),
		field("bytes_total", least(0), doc("0 if the sizes are not known.")),
	},
	reflect.TypeFor[protocol.Health](): {
		field("ok", doc("The daemon responds.")),
		field("ready", doc("False once the daemon is stopping, and while its database does not answer.")),
		field("damaged_brains", least(0),
			doc("Brains whose record cannot be read. The other brains are not affected.")),
		field("database", oneOf("ok", "unavailable"),
			doc("Whether the database of the brains answers. Missing if they are in none.")),
	},
	reflect.TypeFor[protocol.Brain](): {
		require("created_at"),
		field("id", brainID),
		field("slug", brainID),
		field("name", chars(1, protocol.MaxBrainName)),
		field("visibility", visibility),
		field("created_at", date),
		field("skipped", count(0, 100), doc("Files and folders where the documents are that are not documents, or cannot be read: "+
			"the first ones, ascending by path. Only in the response to a request for one brain.")),
		field("skipped_count", least(0), doc("How many files and folders are skipped.")),
	},
	reflect.TypeFor[protocol.SkippedFile](): {
		field("path", doc("Quoted as in Go if it is not plain printable text.")),
		field("reason", doc("Why it is skipped, as the rest of a sentence that begins with the path.")),
	},
	reflect.TypeFor[protocol.BrainList](): {
		require("default_brain_id"),
		field("default_brain_id", ofType("string"), chars(0, protocol.MaxBrainSlug),
			doc("The brain of requests that name none. Empty if there is no such brain.")),
	},
	reflect.TypeFor[protocol.CreateBrain](): {
		doc("At least one of id, name and slug."),
		open,
		optional("name"),
		field("id", brainID, doc("Also brainId or brain_id. Derived from the slug by default.")),
		field("name", chars(0, protocol.MaxBrainName)),
		field("slug", brainID, doc("Derived from the name by default.")),
		field("visibility", visibility, byDefault(protocol.VisibilityPrivate)),
	},

	reflect.TypeFor[protocol.FileInfo](): {
		field("size", least(0)),
		field("mtime", date, pattern(milliseconds)),
	},
	reflect.TypeFor[protocol.FileList](): {
		field("items", count(0, protocol.MaxListItems)),
		field("next_cursor", doc("Absent on the last page.")),
	},
	reflect.TypeFor[protocol.Rename](): {
		open,
		field("from", documentPath),
		field("to", documentPath),
	},
	reflect.TypeFor[protocol.Batch](): {
		open,
		optional("reason"),
		field("ops", count(0, protocol.MaxBatchOps)),
	},
	reflect.TypeFor[protocol.BatchOp](): {
		doc("write and append have content_base64, rename has to. All decoded content of a batch "+
			"together is at most %d MiB.", protocol.MaxBatchBytes>>20),
		open,
		field("type", oneOf(
			protocol.OpWrite, protocol.OpAppend, protocol.OpDelete, protocol.OpRename)),
		field("path", documentPath),
		field("to", documentPath),
		field("content_base64", base64Text),
	},
	reflect.TypeFor[protocol.BatchResult](): {field("committed", least(0))},

	reflect.TypeFor[protocol.CreateDocument](): {
		open,
		field("content", chars(1, protocol.MaxDocumentContent)),
		field("title", chars(0, protocol.MaxDocumentTitle), doc("The first heading by default.")),
		field("path", chars(0, protocol.MaxDocumentPath),
			doc("Must be free. Derived from the title by default.")),
		field("tags", count(0, protocol.MaxDocumentTags),
			items(chars(1, protocol.MaxDocumentTag), pattern("^[^,]*$"))),
		field("metadata", ref("Metadata")),
		field("source", source, byDefault(protocol.SourceIngest)),
	},
	reflect.TypeFor[protocol.DocumentRecord](): {
		doc("Derived from the path, the bytes and the time of a document. commit_sha is the id " +
			"of git's blob with this content."),
		field("id", chars(1, 0)),
		field("brain_id", chars(1, 0)),
		field("title", chars(1, protocol.MaxDocumentTitle)),
		field("path", chars(1, protocol.MaxDocumentPath)),
		field("source", source),
		field("byte_size", least(0)),
		field("checksum_sha256", sha256Hex),
		field("metadata", ref("Metadata")),
		field("commit_sha", pattern("^[0-9a-f]{40}$")),
		field("created_at", date),
		field("updated_at", date),
		field("deleted_at", ofType("null")),
	},
	reflect.TypeFor[protocol.DocumentList](): {
		field("items", count(0, protocol.MaxListItems)),
		field("next_cursor", doc("Absent on the last page.")),
	},

	reflect.TypeFor[protocol.IngestFile](): {
		doc("The kind of the file follows from as, else from content_type, else from the extension."),
		open,
		field("path", documentPath, doc("The folder and the name of the file. Without a folder, it is "+
			"raw/documents. Files that are not Markdown get the extension .md.")),
		field("content_type", chars(0, 255)),
		field("as", oneOf(protocol.AsMarkdown, protocol.AsText, protocol.AsPDF, protocol.AsJSON,
			protocol.AsHTML)),
		field("title", chars(0, protocol.MaxDocumentTitle), doc("That of the file by default.")),
		field("tags", count(0, protocol.MaxDocumentTags),
			items(chars(1, protocol.MaxDocumentTag), pattern("^[^,]*$"))),
		field("content_base64", base64Text),
	},
	reflect.TypeFor[protocol.IngestURL](): {
		open,
		field("url", chars(1, protocol.MaxURL), doc("http or https, without a user, on port 80, 443 or "+
			"one from 1024.")),
		field("title", chars(0, protocol.MaxDocumentTitle), doc("That of the page by default.")),
		field("tags", count(0, protocol.MaxDocumentTags),
			items(chars(1, protocol.MaxDocumentTag), pattern("^[^,]*$"))),
	},
	reflect.TypeFor[protocol.IngestResponse](): {
		open,
		field("status", oneOf(protocol.IngestCompleted, protocol.IngestQueued),
			doc("Absent when the document exists.")),
		field("document_id", doc("Empty while queued.")),
		field("path", doc("Empty while queued.")),
		field("hash", sha256Hex, doc("SHA-256 of the bytes as they were sent.")),
		field("chunk_count", least(0), doc("Passages of the document that are ranked.")),
		field("embedded_count", least(0), doc("How many of them have a vector already. Vectors are "+
			"computed in the background, so it is 0 for a new document.")),
		field("duration_ms", least(0)),
		field("reused", doc("The same bytes were ingested before.")),
		field("job_id", doc("Only when queued.")),
	},
	reflect.TypeFor[protocol.Job](): {
		field("kind", oneOf(protocol.JobIngest, protocol.JobExtract)),
		field("status", oneOf(protocol.JobQueued, protocol.JobRunning, protocol.JobCompleted,
			protocol.JobFailed)),
		field("attempts", least(0)),
		field("result", anyObject, doc("Only when completed. Of the kind ingest an IngestResponse.")),
		field("error", doc("Only when failed.")),
		field("created_at", date, pattern(milliseconds)),
		field("updated_at", date, pattern(milliseconds)),
	},

	reflect.TypeFor[protocol.SearchFilters](): {
		doc("A document must match all the given filters. With a date, undated documents and those " +
			"with an unreadable date do not match. Unknown keys are rejected."),
		open,
		func(s *jsonschema.Schema) { s.PropertyNames = filterNames(s) },
		field("paths", ref("FilterValues"), doc("One of these.")),
		field("tags", ref("FilterValues"), doc("All of these.")),
		field("session_ids", ref("FilterValues"), doc("The document's session_id is one of these.")),
		field("date_from", doc("RFC 3339, or YYYY-MM-DD for that day and later ones, as documents are dated.")),
		field("date_to", doc("RFC 3339, or YYYY-MM-DD for that day and earlier ones, as documents are dated.")),
		field("include_generated", byDefault(false),
			doc("Includes documents whose base name begins with _.")),
	},
	reflect.TypeFor[protocol.SearchRequest](): {
		doc("camelCase keys are accepted too, and question for query."),
		open,
		field("query", chars(1, protocol.MaxSearchQuery), typedQuery),
		field("top_k", between(1, protocol.MaxSearchTopK), byDefault(protocol.DefaultTopK)),
		field("mode", ref("Mode")),
		field("scope", ref("Scope")),
		field("sort", ref("Sort")),
		field("question_date", ref("QuestionDate")),
		field("candidate_k", ref("CandidateK")),
		field("rerank_top_n", ref("RerankTopN")),
		field("max_per_document", ref("MaxPerDocument")),
		field("explain", byDefault(false)),
		field("operators", byDefault(false), doc("The query has operators, even if it looks like a sentence.")),
	},
	reflect.TypeFor[protocol.SearchResponse](): {
		field("operators", count(1, 0), doc("The operators of the query, as they were read.")),
		field("mode", ref("Mode"), doc("The requested mode.")),
		field("effective_mode", ref("EffectiveMode")),
		field("degraded", ref("Degraded")),
		field("collapsed", least(1), doc("How many candidates are left out because a chunk of the "+
			"response has an identical text: all that duplicates and more_duplicates count.")),
		field("chunks", count(0, protocol.MaxSearchTopK)),
		field("took_ms", least(0)),
	},
	reflect.TypeFor[protocol.SearchChunk](): {
		field("text", doc("As in the document, without any markup of matches.")),
		field("metadata", anyObject),
		field("highlights", doc("Spans of text where the query was found.")),
		field("component_scores", doc("What score was computed from, by leg; keys that end in "+
			"_rank are ranks in the leg.")),
		field("duplicates", ref("Duplicates")),
		field("more_duplicates", ref("MoreDuplicates")),
	},
	reflect.TypeFor[protocol.Duplicate](): {},
	reflect.TypeFor[protocol.Span](): {
		doc("A half-open range of Unicode code points."),
		field("start", least(0)),
		field("end", least(0)),
	},
	reflect.TypeFor[protocol.Explanation](): {
		field("terms", doc("The words that were looked up.")),
		field("legs", doc("Each ranking that went into the result.")),
	},
	reflect.TypeFor[protocol.Fusion](): {
		doc("How a hybrid combined the rankings by words and by vectors."),
		field("method", oneOf(protocol.FusionScore, protocol.FusionRRF)),
		field("weight", doc("Of the ranking by vectors, relative to 1 for that by words.")),
	},
	reflect.TypeFor[protocol.ExplanationLeg](): {field("candidates", doc("Best first."))},
	reflect.TypeFor[protocol.LegCandidate]():   {},

	reflect.TypeFor[protocol.AskRequest](): {
		doc("camelCase keys are accepted too, and query for question."),
		open,
		field("question", chars(1, protocol.MaxAskQuery)),
		field("top_k", between(1, protocol.MaxAskTopK), byDefault(protocol.DefaultTopK)),
		field("mode", ref("Mode")),
		field("reader_mode", oneOf(protocol.ReaderBasic, protocol.ReaderAugmented),
			byDefault(protocol.ReaderBasic)),
		field("scope", ref("Scope")),
		field("question_date", ref("QuestionDate")),
		field("max_per_document", ref("MaxPerDocument")),
	},
	reflect.TypeFor[protocol.RetrieveEvent](): {
		field("chunks", count(0, protocol.MaxAskTopK)),
		field("mode", ref("Mode"), doc("The requested mode.")),
		field("effective_mode", ref("EffectiveMode")),
		field("degraded", ref("Degraded")),
	},
	reflect.TypeFor[protocol.RetrievedChunk](): {
		field("preview", chars(0, protocol.MaxPreviewChars)),
		field("duplicates", ref("Duplicates")),
		field("more_duplicates", ref("MoreDuplicates")),
	},
	reflect.TypeFor[protocol.DeltaEvent](): {},
	reflect.TypeFor[protocol.CitationEvent](): {
		field("type", constant("citation")),
		field("answer_start", least(0)),
		field("answer_end", least(0)),
	},
	reflect.TypeFor[protocol.DoneEvent](): {
		field("ok", constant(true)),
		field("prompt_sha256", sha256Hex),
		field("took_ms", least(0)),
	},
	reflect.TypeFor[protocol.Usage](): {
		field("input_tokens", least(0)),
		field("output_tokens", least(0)),
	},
	reflect.TypeFor[protocol.ErrorEvent](): {},

	reflect.TypeFor[protocol.SessionMessage](): {
		open,
		field("role", role),
		field("content", chars(1, protocol.MaxMessageContent)),
		field("name", chars(0, protocol.MaxMessageName),
			doc("Who speaks, or the tool if the role is tool.")),
		field("metadata", ref("Metadata"), doc("At most 64 keys. It is stored, but not returned. "+
			"actor_id, a string, is who speaks; skip_extract, a boolean, that facts are not extracted "+
			"yet.")),
		field("created_at", date, doc("When the message was written; now by default.")),
	},
	reflect.TypeFor[protocol.SessionMessages](): {
		open,
		field("messages", count(1, protocol.MaxSessionMessages)),
	},
	reflect.TypeFor[protocol.SessionMessageRecord](): {
		field("id", chars(1, 0)),
		field("session_id", chars(1, protocol.MaxSessionID)),
		field("role", role),
		field("content", chars(1, protocol.MaxMessageContent)),
		field("name", chars(1, protocol.MaxMessageName)),
		field("created_at", date, pattern(milliseconds)),
	},
	reflect.TypeFor[protocol.SessionMessageList](): {
		field("messages", count(1, protocol.MaxSessionMessages)),
	},
	reflect.TypeFor[protocol.RecallRequest](): {
		doc("camelCase keys are accepted too, and question for query."),
		open,
		field("query", chars(1, protocol.MaxSearchQuery), typedQuery),
		field("top_k", between(1, protocol.MaxRecallTopK), byDefault(protocol.DefaultTopK)),
		field("scope", ref("Scope")),
	},
	reflect.TypeFor[protocol.RecallResponse](): {
		field("chunks", count(0, protocol.MaxRecallTopK)),
		field("effective_mode", ref("EffectiveMode"), doc("The mode of the query's ranking.")),
		field("degraded", ref("Degraded")),
	},
	reflect.TypeFor[protocol.ReflectResponse](): {
		field("reflection_status", doc("completed, no_result or failed.")),
		field("reflection_attempted", doc("A model was asked.")),
		field("session_id", chars(1, protocol.MaxSessionID)),
		field("ended_at", date, pattern(milliseconds)),
		field("model", doc("The model that ran.")),
	},
	reflect.TypeFor[protocol.Reflection](): {
		field("path", doc("The document of the episode; empty if there is none.")),
	},
	reflect.TypeFor[protocol.Session](): {
		field("id", chars(1, protocol.MaxSessionID)),
		field("status", oneOf(protocol.SessionOpen, protocol.SessionEnded)),
		field("messages", least(1)),
		field("extracted", least(0), doc("From how many of its messages facts have been extracted.")),
		field("extract_job", doc("The last job that extracts its facts; if it has failed, the rest is missing.")),
		field("created_at", date, pattern(milliseconds)),
		field("ended_at", date, pattern(milliseconds)),
		field("reflection_status", doc("Of the last reflection: completed, no_result or failed.")),
	},
	reflect.TypeFor[protocol.ConsolidateRequest](): {
		doc("camelCase keys are accepted too."),
		open,
		field("dry_run", doc("Lists what would be done, and changes nothing.")),
	},
	reflect.TypeFor[protocol.ConsolidateResponse](): {},
	reflect.TypeFor[protocol.Consolidation](): {
		field("record", doc("The document with the text of everything that was pruned. Absent if "+
			"nothing was done.")),
		field("model", doc("The model that ran. Absent if none did.")),
	},
	reflect.TypeFor[protocol.ConsolidationAction](): {
		field("path", doc("The document that was written or deleted, or that has lost a fact.")),
		field("from", doc("The documents that it was made from, or that replace what was pruned.")),
	},

	reflect.TypeFor[protocol.ChangeEvent](): {
		field("kind", oneOf("created", "updated", "deleted", "renamed")),
		field("old_path", doc("Only for renamed.")),
		field("when", date, pattern(milliseconds)),
	},
}

// sharedSchemas are used by several fields or events, and have no Go type of their own.
var sharedSchemas = map[string]*jsonschema.Schema{
	"Mode": schemaOf[string](oneOf(protocol.Modes...), byDefault(protocol.ModeAuto)),
	"EffectiveMode": schemaOf[string](oneOf(protocol.EffectiveModes...),
		doc("The mode that ran.")),
	"Degraded": schemaOf[string](chars(1, 0),
		doc("Why a lower mode ran than the requested one.")),
	"JSONRPCMessage": schemaOf[struct{}](anyObject, require("jsonrpc"),
		doc("A response, or a notification of progress.")),
	"Scope": schemaOf[string](
		oneOf(protocol.ScopeAll, protocol.ScopeGlobal, protocol.ScopeProject, protocol.ScopeAgent),
		byDefault(protocol.ScopeAll),
		doc("The documents below memory/<scope>/, or all documents.")),
	"Sort": schemaOf[string](
		oneOf(protocol.SortRelevance, protocol.SortRecency, protocol.SortRelevanceThenRecency),
		byDefault(protocol.SortRelevance),
		doc("The order of the top_k best chunks.")),
	"QuestionDate": schemaOf[string](doc("RFC 3339, or YYYY-MM-DD for the end of that day in " +
		"UTC. Documents dated later, or with an unreadable date, are left out; undated ones are not.")),
	"CandidateK": schemaOf[int](between(0, protocol.MaxCandidateK), byDefault(0),
		doc("How many candidates each leg of a hybrid contributes; 0 lets the daemon choose.")),
	"MaxPerDocument": schemaOf[int](between(0, protocol.MaxSearchTopK),
		doc("Maximum number of chunks of one document; 0 means no limit. By default it is 1, and "+
			"further chunks take the places that are left.")),
	"RerankTopN": schemaOf[int](between(0, protocol.MaxRerankTopN), byDefault(0),
		doc("How many of the fused candidates are reranked; 0 lets the daemon choose.")),
	"FilterValues": schemaOf[[]string](count(1, protocol.MaxFilterValues), items(chars(1, 0))),
	"Metadata": schemaOf[map[string]any](func(s *jsonschema.Schema) {
		s.PropertyNames = &jsonschema.Schema{}
		chars(1, protocol.MaxMetadataKey)(s.PropertyNames)
		s.AdditionalProperties = &jsonschema.Schema{
			Types: []string{"string", "number", "boolean", "null"},
			Description: "In a document, a whole number is refused if a 64-bit floating-point number does not keep its digits: " +
				"give it as a string.",
		}
	}),
	"Duplicates": schemaOf[[]protocol.Duplicate](count(1, 20),
		doc("The first 20 chunks that are left out because this one has an identical text, best "+
			"first.")),
	"MoreDuplicates": schemaOf[int](least(1),
		doc("How many further chunks with this text are left out.")),
	"ReadyEvent": {Const: jsonschema.Ptr[any](protocol.ReadyData)},
	"PingEvent":  {Const: jsonschema.Ptr[any](protocol.PingData)},
}

// milliseconds ends the timestamps of protocol.FormatTime.
const milliseconds = `\.[0-9]{3}Z$`

// Rules of several fields.
var (
	role = oneOf(
		protocol.RoleSystem, protocol.RoleUser, protocol.RoleAssistant, protocol.RoleTool)
	sha256Hex  = pattern("^[0-9a-f]{64}$")
	visibility = oneOf(
		protocol.VisibilityPrivate, protocol.VisibilityTenant, protocol.VisibilityPublic)
	source = oneOf(protocol.SourceIngest, protocol.SourceExtract, protocol.SourceCompile,
		protocol.SourceReflect)
)

func brainID(s *jsonschema.Schema) {
	pattern("^[a-z0-9][a-z0-9-]*$")(s)
	chars(0, protocol.MaxBrainSlug)(s)
}

func typedQuery(s *jsonschema.Schema) {
	doc("What to look for. As typed into a search box, \"exact phrase\", -word, prefix* and a OR b " +
		"are operators; questions and sentences have none.")(s)
}

func documentPath(s *jsonschema.Schema) {
	chars(1, 0)(s)
	doc("Relative path with / between its segments; no leading or trailing slash, no empty, " +
		". or .. segment, no backslash, no NUL.")(s)
}

// filterNames allows the keys of a schema, in snake_case and camelCase.
func filterNames(s *jsonschema.Schema) *jsonschema.Schema {
	names := slices.Clone(s.PropertyOrder)
	for _, name := range s.PropertyOrder {
		if other := camelCase(name); other != name {
			names = append(names, other)
		}
	}
	only := &jsonschema.Schema{}
	oneOf(names...)(only)
	return only
}
