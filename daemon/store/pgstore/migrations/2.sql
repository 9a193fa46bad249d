-- An id is unique within a tenant, by the table names, and no longer in the database.
ALTER TABLE brains DROP CONSTRAINT brains_id_key;
CREATE INDEX brains_of_any_tenant ON brains (id);
