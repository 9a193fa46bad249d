-- Brains, which all replicas share. uid is never used twice, so rows of a deleted brain cannot
-- become those of a new one with the same id.
CREATE TABLE brains (
  uid     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id      text COLLATE "C" NOT NULL UNIQUE,
  tenant  text COLLATE "C" NOT NULL,
  record  json NOT NULL -- not jsonb, which rejects the character U+0000
);
CREATE INDEX brains_by_id ON brains (tenant, id);
CREATE INDEX brains_by_age ON brains (tenant, uid);

-- The ids and slugs of a tenant's brains: none may be used twice.
CREATE TABLE names (
  tenant  text COLLATE "C" NOT NULL,
  name    text COLLATE "C" NOT NULL,
  uid     bigint NOT NULL REFERENCES brains ON DELETE CASCADE,
  PRIMARY KEY (tenant, name)
);
CREATE INDEX names_of_brain ON names (uid);

-- Deleted brains whose rows in the tables below remain to be deleted.
CREATE TABLE retired (
  uid     bigint PRIMARY KEY,
  at      timestamptz NOT NULL DEFAULT now()
);

-- A brain exists as long as it has a row here, and the row is the lock of the brain's mutations. It
-- is locked and hardly ever updated, because each update leaves a version of the row that every
-- access passes until it can be removed, which a long transaction such as a backup prevents.
-- Changes up to the number pruned are no longer there. fence is increased to make sure that a
-- mutation that was sent with an older one never happens.
CREATE TABLE heads (
  brain   bigint PRIMARY KEY,
  pruned  bigint NOT NULL DEFAULT 0,
  fence   bigint NOT NULL DEFAULT 0
);

-- Documents. Times are nanoseconds of Unix time. The version is the number of the commit that
-- wrote the document. Not compressed, so that a part of data can be read without the rest.
CREATE TABLE documents (
  brain    bigint NOT NULL,
  path     text COLLATE "C" NOT NULL,
  version  bigint NOT NULL,
  modified bigint NOT NULL,
  size     bigint NOT NULL,
  data     bytea NOT NULL,
  PRIMARY KEY (brain, path)
);
ALTER TABLE documents ALTER COLUMN data SET STORAGE EXTERNAL;

-- The events of commits, n counted from 0 within a commit. commit_id is chosen by the process that
-- commits, which finds out with it whether the commit happened; only the event 0 has one. The
-- reason is UTF-8, but not text, because clients may send the character 0.
CREATE TABLE changes (
  brain     bigint NOT NULL,
  seq       bigint NOT NULL,
  n         int NOT NULL,
  kind      text NOT NULL,
  path      text COLLATE "C" NOT NULL,
  old_path  text COLLATE "C" NOT NULL DEFAULT '',
  reason    bytea NOT NULL DEFAULT '',
  at        bigint NOT NULL,
  commit_id uuid,
  PRIMARY KEY (brain, seq, n)
);

-- mutate commits one operation: the kind write, append or delete at path p. dirs are the
-- directories above p. Without a result nothing has changed: the brain or the document is missing,
-- the fence is an old one, or there cannot be a document at p.
-- Its plans are kept, because planning costs more than they do.
CREATE FUNCTION mutate(b bigint, sent_fence bigint, kind text, p text, dirs text[], content bytea,
  now bigint, id uuid, OUT number bigint, OUT event text) LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan AS $$
DECLARE last_pruned bigint; existed boolean;
BEGIN
  -- Only a statement after the one that has waited for the lock sees what was committed meanwhile.
  SELECT h.pruned INTO last_pruned FROM evalctl.heads h WHERE h.brain = b AND h.fence = sent_fence FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT coalesce((SELECT c.seq FROM evalctl.changes c WHERE c.brain = b ORDER BY c.seq DESC LIMIT 1), last_pruned) + 1,
      EXISTS (SELECT FROM evalctl.documents d WHERE d.brain = b AND d.path = p)
    INTO number, existed;
  IF existed THEN
    event := 'updated';
    IF kind = 'delete' THEN
      event := 'deleted';
      DELETE FROM evalctl.documents WHERE brain = b AND path = p;
    ELSIF kind = 'write' THEN
      UPDATE evalctl.documents SET version = number, modified = now, size = length(content), data = content
        WHERE brain = b AND path = p;
    ELSE
      UPDATE evalctl.documents
        SET version = number, modified = now, size = size + length(content), data = data || content
        WHERE brain = b AND path = p;
    END IF;
  ELSIF kind = 'delete' THEN
    number := NULL;
    RETURN;
  ELSE
    event := 'created';
    -- The row of heads is locked, so no other process creates a document meanwhile. In the
    -- collation C, the paths below p are those between p/ and p0. The directories are looked up one
    -- at a time, because the plan for any number of them reads all documents of the brain.
    INSERT INTO evalctl.documents (brain, path, version, modified, size, data)
      SELECT b, p, number, now, length(content), content
      WHERE NOT EXISTS (SELECT FROM evalctl.documents d WHERE d.brain = b AND d.path > p || '/' AND d.path < p || '0')
      AND NOT EXISTS (SELECT FROM unnest(dirs) AS dir, LATERAL (
        SELECT FROM evalctl.documents d WHERE d.brain = b AND d.path = dir LIMIT 1) AS above);
    IF NOT FOUND THEN
      number := NULL;
      RETURN;
    END IF;
  END IF;
  INSERT INTO evalctl.changes (brain, seq, n, kind, path, at, commit_id)
    VALUES (b, number, 0, event, p, now, id);
END $$;

-- mutate_group commits operations on different brains, each as mutate does, except that it leaves
-- out brains that are locked, missing or have another fence. Of the others it returns the place in
-- the arrays, from 1. The directories above paths[i] are dirs[first[i]] to dirs[last[i]].
CREATE FUNCTION mutate_group(brains bigint[], fences bigint[], kinds text[], paths text[], first int[], last int[],
  dirs text[], contents bytea[], times bigint[], ids uuid[])
  RETURNS TABLE (place int, number bigint, event text) LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE locked int[]; pruned bigint[];
BEGIN
  SELECT array_agg(l.i), array_agg(l.pruned) INTO locked, pruned FROM (
    SELECT u.i::int, h.pruned FROM unnest(brains, fences) WITH ORDINALITY AS u (brain, fence, i), LATERAL (
      SELECT * FROM evalctl.heads h WHERE h.brain = u.brain AND h.fence = u.fence FOR UPDATE SKIP LOCKED) AS h) AS l;
  RETURN QUERY
  WITH op AS MATERIALIZED (
    SELECT u.i, brains[u.i] AS brain, kinds[u.i] AS kind, paths[u.i] AS path, contents[u.i] AS content,
      times[u.i] AS now, ids[u.i] AS id, d.place,
      coalesce((SELECT c.seq FROM evalctl.changes c WHERE c.brain = brains[u.i] ORDER BY c.seq DESC LIMIT 1), u.pruned)
        + 1 AS number,
      CASE WHEN d.place IS NOT NULL THEN
        CASE kinds[u.i] WHEN 'delete' THEN 'deleted' ELSE 'updated' END
      WHEN kinds[u.i] <> 'delete'
        AND NOT EXISTS (SELECT FROM evalctl.documents d
          WHERE d.brain = brains[u.i] AND d.path > paths[u.i] || '/' AND d.path < paths[u.i] || '0')
        AND NOT EXISTS (SELECT FROM unnest(dirs[first[u.i]:last[u.i]]) AS dir, LATERAL (
          SELECT FROM evalctl.documents d WHERE d.brain = brains[u.i] AND d.path = dir LIMIT 1) AS above)
      THEN 'created' END AS event
    FROM unnest(locked, pruned) AS u (i, pruned) LEFT JOIN LATERAL (
      SELECT d.ctid AS place FROM evalctl.documents d WHERE d.brain = brains[u.i] AND d.path = paths[u.i] LIMIT 1
      ) AS d ON true
  ), created AS (
    INSERT INTO evalctl.documents (brain, path, version, modified, size, data)
      SELECT brain, path, number, now, length(content), content FROM op WHERE event = 'created'
  ), updated AS (
    UPDATE evalctl.documents d SET version = op.number, modified = op.now,
      size = CASE op.kind WHEN 'append' THEN d.size ELSE 0 END + length(op.content),
      data = CASE op.kind WHEN 'append' THEN d.data || op.content ELSE op.content END
      FROM op WHERE d.ctid = op.place AND op.event = 'updated'
  ), deleted AS (
    DELETE FROM evalctl.documents d USING op WHERE d.ctid = op.place AND op.event = 'deleted'
  ), events AS (
    INSERT INTO evalctl.changes (brain, seq, n, kind, path, at, commit_id)
      SELECT brain, number, 0, event, path, now, id FROM op WHERE event IS NOT NULL
  )
  SELECT i, CASE WHEN event IS NOT NULL THEN number END, event FROM op;
END $$;

-- Snapshots of search indexes, in parts of 1 MiB. A snapshot has all commits up to seq. Its content
-- has checksums of its own.
CREATE TABLE snapshots (
  brain    bigint PRIMARY KEY,
  seq      bigint NOT NULL,
  size     bigint NOT NULL,
  at       timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE snapshot_parts (
  brain    bigint NOT NULL,
  n        int NOT NULL,
  data     bytea NOT NULL,
  PRIMARY KEY (brain, n)
);
ALTER TABLE snapshot_parts ALTER COLUMN data SET STORAGE EXTERNAL;

-- What one replica at a time may do for a brain, until the time expires. The names that begin with
-- pending/ are marks of replicas that have begun, or are about to begin, work which another one has
-- to continue if they vanish.
CREATE TABLE leases (
  brain    bigint NOT NULL REFERENCES brains ON DELETE CASCADE,
  name     text COLLATE "C" NOT NULL,
  owner    text NOT NULL,
  expires  timestamptz NOT NULL,
  PRIMARY KEY (brain, name)
);
CREATE INDEX leases_of_owner ON leases (owner);
