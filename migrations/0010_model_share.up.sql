-- The share of the model's task in the pool of its DAG, so that a replica need not decode the models of
-- all tasks of the DAG to answer for one task. Null if an earlier release published the model.
ALTER TABLE model ADD COLUMN share bytea;
