package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"evalctl/harness/ledger"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/postgres"
	"evalctl/internal/retry"
)

// patience is how long writing the outcome of a request, or a record, is retried while the database
// does not answer. Both are paid for.
const patience = 2 * time.Minute

// Books are the books of a run in the database. They follow the rules of a ledger: the worst case
// of a request is reserved before it is sent, and counts as spent until the outcome is known. The
// reservations of all processes together never exceed the cap. Books are safe for concurrent use.
type Books struct {
	q       *Queue
	run     string
	started time.Time

	mu  sync.Mutex
	cap *llm.USD
	err error
}

var _ ledger.Books = (*Books)(nil)

// Account implements ledger.Books.
func (b *Books) Account(phase ledger.Phase, arm string) llm.Account {
	return account{b, phase, arm}
}

// Cap implements ledger.Books.
func (b *Books) Cap() *llm.USD {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cap
}

// StartedAt implements ledger.Books.
func (b *Books) StartedAt() time.Time { return b.started }

// Sync implements ledger.Books. The database has everything already.
func (b *Books) Sync() error { return nil }

// Err implements ledger.Books.
func (b *Books) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// readCap reads the cap again. It is final once questions are on the queue.
func (b *Books) readCap(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	var limit *llm.USD
	if err := b.q.row(ctx, `SELECT cap FROM @runs WHERE id = $1`, b.run).Scan(&limit); err != nil {
		return fmt.Errorf("read the cap of run %s: %w", b.run, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cap = limit
	return nil
}

// fail keeps the first error. No request is admitted after it.
func (b *Books) fail(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = fmt.Errorf("the books of run %s: %w; no request is made without them", b.run, err)
	}
	return b.err
}

// Spent implements ledger.Books. It returns 0 if the database does not answer, which Err reports.
func (b *Books) Spent() llm.USD {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var spent int64
	if err := b.q.scan(ctx, []any{&spent}, `SELECT spent FROM @runs WHERE id = $1`, b.run); err != nil {
		_ = b.fail(err)
	}
	return llm.USD(spent)
}

// account is the account for a phase of an arm.
type account struct {
	books *Books
	phase ledger.Phase
	arm   string
}

func (a account) Capped() bool { return a.books.Cap() != nil }

// waitForOthers is how often a request that does not fit yet tries again.
const waitForOthers = 100 * time.Millisecond

// Reserve reserves the worst case of a request in the database, unless it is free. If the request
// fits only once requests of any process settle for less, Reserve waits for them.
func (a account) Reserve(ctx context.Context, model string, worst llm.USD) (func(llm.Charge), error) {
	if err := a.books.Err(); err != nil {
		return nil, err
	}
	var id int64
	question := Storable(llm.QuestionOf(ctx))
	if worst = max(worst, 0); worst > 0 {
		var err error
		if id, err = a.reserve(ctx, model, question, worst); err != nil {
			return nil, err
		}
	}
	var once sync.Once
	return func(c llm.Charge) { once.Do(func() { a.settle(id, model, question, c) }) }, nil
}

func (a account) reserve(ctx context.Context, model, question string, worst llm.USD) (id int64, err error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	key := rand.Text() // finds the reservation again if its outcome was not known
	// A statement that is cancelled may take effect all the same, and nobody would settle it.
	longer, cancel := outlive(ctx, attempt)
	defer cancel()
	for {
		err := a.books.q.scan(longer, []any{&id}, `
			WITH known AS (
				SELECT id FROM @charges WHERE key = $7
			), admitted AS (
				UPDATE @runs SET reserved = reserved + $2
				WHERE id = $1 AND NOT closed AND (cap IS NULL OR $2 <= cap - spent - reserved) AND NOT EXISTS (SELECT FROM known)
				RETURNING id
			), made AS (
				INSERT INTO @charges (run, phase, arm, model, kind, member, worst, key, question)
				SELECT id, $3, $4, $5, 'open', $6, $2, $7, $8 FROM admitted
				RETURNING id
			)
			SELECT id FROM known UNION ALL SELECT id FROM made`,
			a.books.run, int64(worst), string(a.phase), a.arm, model, a.books.q.id, key, question)
		if postgres.IsCode(err, "23505") {
			continue // the first attempt has been committed meanwhile
		}
		if err == nil && ctx.Err() != nil {
			a.settle(id, model, question, llm.Charge{Rejected: true})
			return 0, ctx.Err()
		}
		if err == nil {
			return id, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			a.withdraw(ctx, key, model, question)
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			return 0, fmt.Errorf("reserve the cost of a request: %w", err)
		}
		if err := a.fits(ctx, worst); err != nil {
			return 0, err
		}
		if retry.Sleep(ctx, waitForOthers/2+mathrand.N(waitForOthers)) != nil {
			return 0, ctx.Err()
		}
	}
}

// withdraw settles a reservation that may have been made, if the database answers. Otherwise it
// counts in full once this process has ended.
func (a account) withdraw(ctx context.Context, key, model, question string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	var id int64
	if a.books.q.row(ctx, `SELECT id FROM @charges WHERE key = $1`, key).Scan(&id) == nil {
		a.settle(id, model, question, llm.Charge{Rejected: true})
	}
}

// fits returns an error if a request will not fit, whatever other requests settle for.
func (a account) fits(ctx context.Context, worst llm.USD) error {
	var limit, spent int64
	err := a.books.q.scan(ctx, []any{&limit, &spent},
		`SELECT coalesce(cap, 9223372036854775807), spent FROM @runs WHERE id = $1 AND NOT closed`, a.books.run)
	if errors.Is(err, pgx.ErrNoRows) {
		return errGone(a.books.run)
	}
	if err != nil {
		return fmt.Errorf("reserve the cost of a request: %w", err)
	}
	if left := limit - spent; int64(worst) > left {
		return fmt.Errorf("%w: next call may cost %s, %s left of %s",
			llm.ErrBudgetExceeded, worst, llm.USD(max(left, 0)), llm.USD(limit))
	}
	return nil
}

// settle writes the outcome of a request. If writing fails, the worst case still counts, and no
// further request is admitted.
func (a account) settle(id int64, model, question string, c llm.Charge) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cost := int64(max(c.Cost, 0))
	values := []any{
		a.books.run, cost, max(min(int64(c.Lost), cost), 0), int64(max(c.Usage.InputTokens, 0)), int64(max(c.Usage.OutputTokens, 0)),
		c.Usage.Estimated, c.Rejected, c.Unpriced, c.UsageProblem != "",
	}
	sql := settleReserved
	switch {
	case id != 0:
		values = append(values, id)
	case c.Rejected:
		return // nothing happened
	default:
		sql, values = settleFree, append(values, string(a.phase), a.arm, model, a.books.q.id, rand.Text(), question)
	}
	if err := a.books.q.change(ctx, sql, values...); err != nil {
		_ = a.books.fail(fmt.Errorf("settle a request: %w", err))
	}
}

// settleReserved is idempotent, so that it can be repeated if its outcome is unknown.
const settleReserved = `
	WITH was AS (
		SELECT id, kind, worst FROM @charges WHERE run = $1 AND id = $10 AND kind IN ('open', 'lost') FOR UPDATE
	), settled AS (
		UPDATE @charges c SET kind = 'settled', usd = $2, lost_usd = $3, input_tokens = $4, output_tokens = $5,
			estimated = $6, rejected = $7, unpriced = $8, implausible = $9, at = now()
		FROM was WHERE c.id = was.id
	)
	UPDATE @runs r SET
		reserved = reserved - CASE was.kind WHEN 'open' THEN was.worst ELSE 0 END,
		spent = spent + $2 - CASE was.kind WHEN 'lost' THEN was.worst ELSE 0 END
	FROM was WHERE r.id = $1`

// settleFree writes the outcome of a free request. Only its tokens matter.
const settleFree = `
	INSERT INTO @charges (run, usd, lost_usd, input_tokens, output_tokens, estimated, rejected, unpriced,
		implausible, phase, arm, model, member, key, question, kind, at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 'settled', now()) ON CONFLICT DO NOTHING`

// Lookup implements llm.Account. The key of the row begins with the name of the reply.
func (a account) Lookup(ctx context.Context, model string, reply llm.CacheKey, saved *llm.Charge) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	kind, c := "miss", llm.Charge{}
	if saved != nil {
		kind, c = "hit", *saved
	}
	err := a.books.q.change(ctx, `
		INSERT INTO @charges (run, phase, arm, model, kind, member, usd, key, estimated, unpriced, question, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now())
		ON CONFLICT DO NOTHING`,
		a.books.run, string(a.phase), a.arm, model, kind, a.books.q.id, int64(max(c.Cost, 0)),
		ledger.NameReply(reply)+"."+rand.Text(), c.Usage.Estimated, c.Unpriced, Storable(llm.QuestionOf(ctx)))
	if err != nil {
		_ = a.books.fail(fmt.Errorf("record a look into the cache: %w", err))
	}
}

// chargeLost counts in full the requests of dead processes.
func (q *Queue) chargeLost(ctx context.Context, run string) error {
	return q.chargeOpen(ctx, run, `NOT @alive(member)`)
}

// chargeOpen counts in full the requests in progress that match a condition.
func (q *Queue) chargeOpen(ctx context.Context, run, which string, args ...any) error {
	_, err := q.exec(ctx, `
		WITH lost AS (
			UPDATE @charges SET kind = 'lost', usd = worst, lost_usd = worst, at = now()
			WHERE run = $1 AND kind = 'open' AND `+which+`
			RETURNING worst
		), total AS (SELECT coalesce(sum(worst), 0)::bigint AS usd FROM lost)
		UPDATE @runs SET reserved = reserved - total.usd, spent = spent + total.usd
		FROM total WHERE id = $1 AND total.usd > 0`, append([]any{run}, args...)...)
	return err
}

// Settle closes the books of a run whose questions all have a record. No request is admitted any
// more: a worker that had lost its lease may still ask a question that another one has answered.
// Settle waits for the requests in progress, for at most two minutes; the remaining ones count in
// full. A resumed run admits requests again.
func (r *Run) Settle(ctx context.Context) error {
	regardless := context.WithoutCancel(ctx)
	if err := r.change(regardless, `UPDATE @runs SET closed = true WHERE id = $1`); err != nil {
		return fmt.Errorf("settle run %s: %w", r.run, err)
	}
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < patience; {
		var open bool
		err := r.q.scan(ctx, []any{&open}, `SELECT EXISTS (SELECT FROM @charges WHERE run = $1 AND kind = 'open')`, r.run)
		if err == nil && !open {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("settle run %s: %w", r.run, err)
		}
		_ = retry.Sleep(ctx, waitForOthers)
	}
	err := retrying(regardless, func(ctx context.Context) error {
		return r.q.chargeOpen(ctx, r.run, `EXISTS (SELECT FROM @runs WHERE id = $1 AND owner = $2)`, r.q.id)
	})
	if err != nil {
		return fmt.Errorf("settle run %s: %w", r.run, err)
	}
	return nil
}

// Accounting implements ledger.Books. It returns an empty accounting if the database does not
// answer, which Err reports.
func (b *Books) Accounting(arm string) result.CostAccounting {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var c result.CostAccounting
	err := retrying(ctx, func(ctx context.Context) (err error) {
		c, err = b.accounting(ctx, arm)
		return err
	})
	if err != nil {
		_ = b.fail(err)
	}
	return c
}

// Requests implements ledger.Books.
func (b *Books) Requests(ctx context.Context) iter.Seq2[ledger.Request, error] {
	return func(yield func(ledger.Request, error) bool) {
		rows, err := b.q.pool.Query(ctx, in(`
			SELECT arm, phase, question, model, kind = 'hit', at, usd, lost_usd, input_tokens, output_tokens, estimated, unpriced
			FROM @charges WHERE run = $1 AND kind IN ('settled', 'lost', 'hit') AND NOT rejected ORDER BY at NULLS FIRST, id`), b.run)
		if err != nil {
			yield(ledger.Request{}, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			var r ledger.Request
			var phase ledger.Phase
			var at *time.Time
			var usd, lost int64
			err := rows.Scan(&r.Arm, &phase, &r.Question, &r.Model, &r.Cached, &at, &usd, &lost, &r.InputTokens, &r.OutputTokens,
				&r.Estimated, &r.Unpriced)
			if r.Part = phase.Part(); at != nil {
				r.At = at.UTC()
			}
			if r.Cached {
				r.SavedUSD = llm.USD(usd)
			} else {
				r.USD, r.MayHaveUSD = llm.USD(usd), llm.USD(lost)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(ledger.Request{}, err)
		}
	}
}

// Saved implements ledger.Books. It returns 0 if the database does not answer, which Err reports.
func (b *Books) Saved(arms ...string) (saved llm.USD, estimated int) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var usd int64
	err := b.q.scan(ctx, []any{&usd, &estimated}, `
		SELECT coalesce(sum(usd), 0)::bigint, count(*) FILTER (WHERE estimated) FROM (
			SELECT max(usd) AS usd, bool_or(estimated) AS estimated FROM @charges
			WHERE run = $1 AND arm = ANY($2) AND kind IN ('hit', 'miss')
			GROUP BY coalesce(nullif(split_part(key, '.', 1), ''), key)
			HAVING bool_and(kind = 'hit')
		) AS replies`, b.run, arms)
	if err != nil {
		_ = b.fail(err)
	}
	return llm.USD(usd), estimated
}

func (b *Books) accounting(ctx context.Context, arm string) (result.CostAccounting, error) {
	c := result.CostAccounting{CapUSD: b.Cap(), Tokens: map[string]result.ModelTokens{}, Unpriced: []string{}}
	parts := map[ledger.Phase]*llm.USD{
		ledger.Ingest: &c.IngestUSD, ledger.Actor: &c.ActorUSD, ledger.Judge: &c.JudgeUSD, ledger.Embed: &c.EmbedUSD,
	}
	rows, err := b.q.pool.Query(ctx, in(`
		SELECT phase, model, kind, rejected, count(*), sum(usd)::bigint, sum(lost_usd)::bigint,
			sum(input_tokens)::bigint, sum(output_tokens)::bigint, count(*) FILTER (WHERE estimated),
			count(*) FILTER (WHERE implausible), bool_or(unpriced)
		FROM @charges WHERE run = $1 AND ($2 = '' OR arm = $2) AND kind <> 'open'
		GROUP BY phase, model, kind, rejected`), b.run, arm)
	if err != nil {
		return c, err
	}
	defer rows.Close()
	for rows.Next() {
		var phase ledger.Phase
		var model, kind string
		var rejected, unpriced bool
		var n, estimated, implausible int
		var usd, lost, input, output int64
		err := rows.Scan(&phase, &model, &kind, &rejected, &n, &usd, &lost, &input, &output, &estimated, &implausible, &unpriced)
		if err != nil {
			return c, err
		}
		if unpriced && !rejected {
			c.Unpriced = append(c.Unpriced, model)
		}
		switch kind {
		case "hit":
			c.CacheHits, c.CachedSavingsUSD = c.CacheHits+n, c.CachedSavingsUSD.Plus(llm.USD(usd))
			continue
		case "miss":
			c.CacheMisses += n
			continue
		}
		if part := parts[phase]; part != nil {
			*part = part.Plus(llm.USD(usd))
		}
		c.LostUSD = c.LostUSD.Plus(llm.USD(lost))
		if rejected {
			continue
		}
		t := c.Tokens[model]
		t.Requests, t.Estimated, t.Implausible = t.Requests+n, t.Estimated+estimated, t.Implausible+implausible
		t.InputTokens, t.OutputTokens = result.AddTokens(t.InputTokens, input), result.AddTokens(t.OutputTokens, output)
		t.USD = t.USD.Plus(llm.USD(usd))
		c.Tokens[model] = t
	}
	c.TotalUSD = c.IngestUSD.Plus(c.ActorUSD).Plus(c.JudgeUSD).Plus(c.EmbedUSD)
	slices.Sort(c.Unpriced)
	c.Unpriced = slices.Compact(c.Unpriced)
	return c, rows.Err()
}
