-- Processes that take part in runs. One is alive until its lease has passed since it was last seen.
CREATE TABLE members (
  id    text PRIMARY KEY,
  host  text NOT NULL,
  pid   int NOT NULL,
  works boolean NOT NULL, -- false for a process that has started a run
  lease interval NOT NULL,
  seen  timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION alive(member text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM evalctl_queue.members m WHERE m.id = member AND m.seen + m.lease > clock_timestamp())
$$;

-- Amounts are in nano-dollars. spent + reserved never exceeds cap because of a reservation.
CREATE TABLE runs (
  id         text PRIMARY KEY,
  started_at timestamptz NOT NULL,
  options    bytea NOT NULL,
  cap        bigint,
  spent      bigint NOT NULL DEFAULT 0,
  reserved   bigint NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  closed     boolean NOT NULL DEFAULT false, -- it has finished, and admits no further request
  owner      text -- the member that collects the records
);

-- No further question of an arm is begun once it has a stop_kind.
CREATE TABLE arms (
  run       text NOT NULL REFERENCES runs ON DELETE CASCADE,
  arm       text NOT NULL,
  identity  bytea NOT NULL,
  stop_kind text,
  stop_text text,
  PRIMARY KEY (run, arm)
);

CREATE TABLE seeded (
  run   text NOT NULL REFERENCES runs ON DELETE CASCADE,
  arm   text NOT NULL,
  brain text NOT NULL,
  PRIMARY KEY (run, arm, brain)
);

-- One row for each question of an arm. Its record is written once.
CREATE TABLE tasks (
  run         text NOT NULL REFERENCES runs ON DELETE CASCADE,
  arm         text NOT NULL,
  idx         int NOT NULL,
  question    text NOT NULL,
  worker      text, -- the member that works on it
  tries       int NOT NULL DEFAULT 0,
  earlier     bytea, -- the record of an earlier try, if there is to be another one
  record      bytea,
  finished_at timestamptz,
  PRIMARY KEY (run, arm, idx)
);
CREATE INDEX ON tasks (run, finished_at);
CREATE INDEX ON tasks (run, worker) WHERE worker IS NOT NULL;
CREATE INDEX ON tasks (run, idx, arm) WHERE record IS NULL AND worker IS NULL;

-- Workers that cannot work for a run, as long as the same member owns it.
CREATE TABLE refusals (
  run     text NOT NULL REFERENCES runs ON DELETE CASCADE,
  owner   text NOT NULL,
  worker  text NOT NULL,
  problem text NOT NULL,
  PRIMARY KEY (run, owner, worker)
);

-- A request that may cost money is open before it is sent, with its worst case. Its outcome is
-- settled. It is lost if its process vanished: then it counts with its worst case until it is
-- settled nevertheless. Hits and misses are those of the cache; usd is what a hit saved.
CREATE TABLE charges (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run           text NOT NULL REFERENCES runs ON DELETE CASCADE,
  phase         text NOT NULL,
  arm           text NOT NULL,
  model         text NOT NULL,
  kind          text NOT NULL CHECK (kind IN ('open', 'lost', 'settled', 'hit', 'miss')),
  member        text NOT NULL,
  worst         bigint NOT NULL DEFAULT 0,
  usd           bigint NOT NULL DEFAULT 0,
  lost_usd      bigint NOT NULL DEFAULT 0,
  input_tokens  bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  estimated     boolean NOT NULL DEFAULT false,
  rejected      boolean NOT NULL DEFAULT false,
  unpriced      boolean NOT NULL DEFAULT false,
  implausible   boolean NOT NULL DEFAULT false,
  -- Of a row that is inserted again if its outcome is not known. Of hits and misses it begins with
  -- the name of the reply and a full stop.
  key           text UNIQUE
);
CREATE INDEX ON charges (run) WHERE kind = 'open';
CREATE INDEX ON charges (run, arm);
