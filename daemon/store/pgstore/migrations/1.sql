-- Brains, which all replicas share. uid is never used twice, so rows of a deleted brain cannot
-- become those of a new one with the same id.
CREATE TABLE brains (
  uid     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id      text COLLATE "C" NOT NULL UNIQUE,
  tenant  text COLLATE "C" NOT NULL,
  record  json NOT NULL -- not jsonb, which rejects the character U+0000
);

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

-- The number of the last commit of each brain. Its row is the lock of the brain's mutations.
-- Changes up to the number pruned are no longer there.
CREATE TABLE heads (
  brain   bigint PRIMARY KEY,
  seq     bigint NOT NULL DEFAULT 0,
  pruned  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

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

-- The events of commits, n counted from 0 within a commit.
CREATE TABLE changes (
  brain    bigint NOT NULL,
  seq      bigint NOT NULL,
  n        int NOT NULL,
  kind     text NOT NULL,
  path     text COLLATE "C" NOT NULL,
  old_path text COLLATE "C" NOT NULL DEFAULT '',
  reason   text NOT NULL DEFAULT '',
  at       bigint NOT NULL,
  PRIMARY KEY (brain, seq, n)
);

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
