-- A cohort learns at most a fixed number of reports of each task. It is trained again when the number of these reports, or
-- the number of kills (at most the same fixed number of each task), has grown by a fixed share. If all reports were
-- counted, a task with very many reports would keep the growth small, and the cohort would learn new tasks late.
ALTER TABLE cohort
    ADD COLUMN used_runs  bigint NOT NULL DEFAULT 0, -- like runs, but at most that fixed number of each task
    ADD COLUMN used_kills bigint NOT NULL DEFAULT 0; -- like kills, but at most that fixed number of each task
