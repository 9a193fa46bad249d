-- What the daemon of a worker was seen to do with a canary.
CREATE TABLE sightings (
  run       text NOT NULL REFERENCES runs ON DELETE CASCADE,
  arm       text NOT NULL,
  admission bytea NOT NULL
);
CREATE INDEX ON sightings (run, arm);
