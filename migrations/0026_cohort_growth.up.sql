-- A cohort learns at most a fixed number of reports of each task. It is trained again when the number of
-- reports that it would learn has grown: a task with very many reports must not delay what is learned of
-- new tasks.
ALTER TABLE cohort
    ADD COLUMN used_runs  bigint NOT NULL DEFAULT 0, -- at the training, with at most that number for each task
    ADD COLUMN used_kills bigint NOT NULL DEFAULT 0;
