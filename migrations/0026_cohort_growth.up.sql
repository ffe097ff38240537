-- A cohort learns at most a fixed number of reports of each task. It is trained again when the number of
-- reports that it would learn has grown. Without that bound, a task with very many reports would delay the
-- learning from new tasks.
ALTER TABLE cohort
    ADD COLUMN used_runs  bigint NOT NULL DEFAULT 0, -- like runs, but at most that fixed number of each task
    ADD COLUMN used_kills bigint NOT NULL DEFAULT 0; -- like kills, but at most that fixed number of each task
