-- The share of a model in what the tasks of its DAG learn together, so that a replica need
-- not open the models of all tasks to answer for one. NULL: published by an earlier release.
ALTER TABLE model ADD COLUMN share bytea;
