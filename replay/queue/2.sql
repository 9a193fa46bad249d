-- For the bill: when the outcome of a request was known, and which question it was for.
ALTER TABLE charges ADD COLUMN at timestamptz, ADD COLUMN question text NOT NULL DEFAULT '';
