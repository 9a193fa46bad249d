package mapping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"evalctl/harness/dataset"
	"evalctl/harness/target"
)

// text is one text of a document or a conversation, as written in one call.
type text struct {
	id, path string   // the document's path, and the id of this part of it
	also     []string // documents before it whose texts the service has under the same id
	// values are the text's placeholders.
	values map[string]any
}

// partID returns the id of a document's part or a session's turn, counted from 0.
func partID(path string, i int) string {
	if i == 0 {
		return path
	}
	return path + "#" + strconv.Itoa(i+1)
}

// textsOf returns the texts of a document: several if it exceeds limit characters, else one.
func textsOf(doc dataset.Doc, limit int) (texts []text) {
	head := headOf(doc)
	for i, part := range cutText(head.body, limit) {
		one := text{id: partID(doc.Path, i), path: doc.Path, values: head.values()}
		one.values["text"], one.values["document"] = part, string(doc.Data)
		texts = append(texts, one.named())
	}
	return texts
}

// named adds the id and the name to the values.
func (t text) named() text {
	t.values["id"], t.values["name"] = t.id, nameOf(t.id)
	return t
}

// called returns the text with the id by which the service knows it, see foundItem.sentID.
func (t text) called(id any) text {
	values := map[string]any{}
	maps.Copy(values, t.values)
	values["id"], values["name"] = id, nameOf(textOf(id))
	t.values = values
	return t
}

// call is one call that writes.
type call struct {
	values map[string]any // the placeholders of the whole call, without lists
	texts  []text
}

// calls returns the calls that write texts, with as many texts in each as allowed.
func (o *operation) calls(texts []text) (calls []call) {
	most := 1
	if o.several() {
		if most = o.texts; most == 0 {
			most = max(1, len(texts))
		}
	}
	for some := range slices.Chunk(texts, most) {
		one := call{texts: some}
		if !o.several() {
			one.values = some[0].values
		}
		calls = append(calls, one)
	}
	return calls
}

// render returns the values of a call, including lists if it sends several texts.
func (c call) render(o *operation, brain any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, c.values)
	all["brain"] = brain
	if !o.several() {
		return all
	}
	texts, ids, names, items := []any{}, []any{}, []any{}, []any{}
	for _, t := range c.texts {
		texts, ids, names = append(texts, t.values["text"]), append(ids, t.id), append(names, nameOf(t.id))
		if o.item != nil {
			one := maps.Clone(t.values)
			one["brain"] = brain
			items = append(items, o.item.render(one))
		}
	}
	all["texts"], all["ids"], all["names"], all["items"] = texts, ids, names, items
	return all
}

// Write implements target.Store.
func (s *store) Write(ctx context.Context, id string, docs []dataset.Doc, writers int) error {
	if s.mapping.remember == nil {
		return target.Needs(s, target.Put)
	}
	b, o := s.brain(id), s.mapping.remember
	var texts []text
	for _, doc := range docs {
		texts = append(texts, textsOf(doc, o.limit)...)
	}
	calls := o.calls(texts)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, min(writers, s.mapping.writes)))
	for _, c := range calls[:max(0, len(calls)-1)] {
		g.Go(func() error { return s.remember(gctx, b, o, c) })
	}
	if err := g.Wait(); err != nil || len(calls) == 0 {
		return err
	}
	return s.remember(ctx, b, o, calls[len(calls)-1])
}

// remember makes one call that writes texts.
func (s *Service) remember(ctx context.Context, b *brain, o *operation, c call) error {
	err := b.change(ctx, func() error {
		items, err := s.once(ctx, b, o, c.render(o, b.sentID()))
		if err == nil {
			err = b.keep(o, c, items)
		}
		if err != nil && !refusedCall(err) {
			b.doubt(ctx, o, c)
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		more := ""
		if len(c.texts) > 1 {
			more = fmt.Sprintf(" and %d more", len(c.texts)-1)
		}
		return fmt.Errorf("write document %s%s: %w", c.texts[0].path, more, err)
	}
	return err
}

// change makes a call that changes the brain, and limits how many do so at a time.
func (b *brain) change(ctx context.Context, do func() error) error {
	select {
	case b.writing <- struct{}{}:
		defer func() { <-b.writing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil { // the choice above is random
		return context.Cause(ctx)
	}
	b.mu.Lock()
	b.fresh = true
	b.mu.Unlock()
	return do()
}

// keep records which documents the sent ids and the ids in the reply belong to. Get and delete use
// the reply's ids, or else the sent ones.
func (b *brain) keep(o *operation, c call, items []foundItem) error {
	given, err := idsGiven(o, c.texts, items)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, t := range c.texts {
		if date, ok := t.values["date"].(string); ok {
			b.dates[t.path] = date
		}
		sent := o.sent(c, t)
		for _, id := range sent {
			b.paths[id] = t.path
		}
		if len(given[i]) == 0 {
			id := append(sent, t.id)[0]
			b.kept[id] = t.called(id)
		}
		for _, f := range given[i] {
			b.paths[f.id], b.kept[f.id] = t.path, t.called(f.sentID()).sharing(b.kept[f.id])
		}
	}
	return nil
}

// sent returns the ids that a call sends for a text, the one usable for deletion first.
func (o *operation) sent(c call, t text) (ids []string) {
	if o.whole("ids") || o.item.uses("id") {
		ids = append(ids, t.id)
	}
	if o.whole("names") || o.item.uses("name") {
		ids = append(ids, nameOf(t.id))
	}
	for _, name := range []string{"id", "name"} {
		if id, ok := c.values[name].(string); ok && o.whole(name) {
			ids = append(ids, id)
		}
	}
	if session, ok := t.values["session"].(string); ok && o.sends("session") {
		ids = append(ids, session)
	}
	return ids
}

// givesIDs reports whether the replies have ids of the written texts.
func (o *operation) givesIDs() bool { return o.reply.id != nil || o.reply.group("id") }

// idsGiven returns the items of a reply whose ids are those of texts: all of them belong to a single
// text, else one to each.
func idsGiven(o *operation, texts []text, items []foundItem) ([][]foundItem, error) {
	given := make([][]foundItem, len(texts))
	if !o.givesIDs() {
		return given, nil
	}
	for i, f := range items {
		switch {
		case f.id == "":
			return nil, refused(o.called(), fmt.Errorf("item %d has no id, %w", i+1, errShape))
		case len(texts) == 1:
			given[0] = append(given[0], f)
		case len(items) == len(texts):
			given[i] = []foundItem{f}
		}
	}
	return given, nil
}

// replace overwrites a document: by update if the mapping has it, else by delete and a new text.
// Without either, it writes the document again.
func (s *store) replace(ctx context.Context, b *brain, doc dataset.Doc) error {
	ids := b.idsOf(doc.Path)
	if o := s.mapping.update; o != nil && len(ids) == 1 && len(b.alsoOf(ids[0])) == 0 {
		if texts := textsOf(doc, o.limit); len(texts) == 1 {
			return s.update(ctx, b, ids[0], texts[0])
		}
	}
	if s.mapping.remove != nil {
		if err := s.delete(ctx, b, doc.Path); err != nil {
			return err
		}
	}
	for _, c := range s.mapping.remember.calls(textsOf(doc, s.mapping.remember.limit)) {
		if err := s.remember(ctx, b, s.mapping.remember, c); err != nil {
			return err
		}
	}
	return nil
}

// update replaces the text with an id.
func (s *store) update(ctx context.Context, b *brain, id string, t text) error {
	t = t.called(b.values(id)["id"])
	t.values["brain"] = b.sentID()
	err := b.change(ctx, func() error {
		_, err := s.once(ctx, b, s.mapping.update, t.values)
		return err
	})
	if err != nil {
		return fmt.Errorf("update document %s: %w", t.path, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept[id] = t
	return nil
}

// delete deletes all texts written for a document, except those that other documents share.
func (s *store) delete(ctx context.Context, b *brain, path string) error {
	for _, id := range b.idsOf(path) {
		if b.unshare(id, path) {
			continue
		}
		if err := b.change(ctx, func() error { return s.forget(ctx, b, id) }); err != nil {
			return fmt.Errorf("delete document %s: %w", path, err)
		}
	}
	return nil
}

// forget deletes the text with an id.
func (s *Service) forget(ctx context.Context, b *brain, id string) error {
	_, err := s.once(ctx, b, s.mapping.remove, b.values(id))
	if err == nil {
		b.forgot(id)
	}
	return err
}

// forgot records that the text with an id is deleted.
func (b *brain) forgot(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.kept, id)
}

// values returns the placeholders of a call about the text with an id.
func (b *brain) values(id string) map[string]any {
	values := map[string]any{"brain": b.sentID(), "id": id, "name": nameOf(id)}
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.Copy(values, b.kept[id].values)
	return values
}

// Tell implements target.Listener.
func (s *Service) Tell(ctx context.Context, id string, c target.Conversation) error {
	o := cmp.Or(s.mapping.turns, s.mapping.remember)
	if o == nil {
		return target.Needs(s, target.Put)
	}
	b := s.brain(id)
	for i, one := range conversationCalls(c, s.mapping.per, o) {
		if err := s.remember(ctx, b, o, one); err != nil {
			return fmt.Errorf("session %q, call %d: %w", c.ID, i+1, err)
		}
	}
	return nil
}

// once makes a call within its operation's time limit and reads the reply. It repeats the call only
// if the service refused it as busy, because any other call may have had an effect.
func (s *Service) once(ctx context.Context, b *brain, o *operation, values map[string]any) ([]foundItem, error) {
	var a callReply
	err := target.Retry(ctx, o.within, func(ctx context.Context) (err error) {
		a, err = s.call(ctx, b, o, values)
		if f, ok := errors.AsType[*target.Failure](err); ok && f.Status != http.StatusTooManyRequests && f.Status != http.StatusServiceUnavailable {
			once := target.NewFailure(f.Kind, f.Message)
			once.Status = f.Status
			return once
		}
		return err
	})
	if err != nil || o.reply.text == nil && o.reply.id == nil && !o.reply.plain {
		return nil, err
	}
	p, err := s.read(ctx, o, a)
	return p.items, err
}
