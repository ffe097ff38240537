-- The run score of the prediction for the try, from which the next training learns how the task depends on the earlier tasks of
-- a run. Null: the prediction had none, or the replica that received the report did not know the prediction.
ALTER TABLE observation ADD COLUMN run_score float8;
