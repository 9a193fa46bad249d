-- Records of tries before the earlier one, oldest first, whose cost every machine must know.
ALTER TABLE tasks ADD COLUMN replaced bytea[] NOT NULL DEFAULT '{}';
