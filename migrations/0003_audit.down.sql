ALTER TABLE receipt DROP COLUMN model_version, DROP COLUMN told;
ALTER TABLE task DROP COLUMN pinned_version, DROP COLUMN pinned_by, DROP COLUMN watched_from, DROP COLUMN withdrawn;
DROP TABLE audit;
