-- The share of a model in what the tasks of its DAG learn together, so that a replica does not decode
-- the models of all tasks to answer for one. Null if an earlier release published the model.
ALTER TABLE model ADD COLUMN share bytea;
