-- A closed run has finished: it admits no further request.
ALTER TABLE runs ADD COLUMN closed boolean NOT NULL DEFAULT false;
