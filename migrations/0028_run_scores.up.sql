-- The run score of the newest prediction for the try or, if the replica that receives the report knows none, of the newest
-- lift of its run. The next training learns from it how the prediction error of the task follows those of the tasks of the
-- run that were reported before. Null: this answer had no run score, or the replica knew neither answer.
ALTER TABLE observation ADD COLUMN run_score float8;
