-- The data from which plans (limits that grow during a run) are learned, and what was learned.

-- The series from which plans are learned: the detailed series of a success, or else its usage series. The service keeps the
-- newest 64 of a task. The foreign key deletes a series with its report.
CREATE TABLE detailed_series (
    task    bigint NOT NULL,
    seq     bigint NOT NULL,
    id      bigint GENERATED ALWAYS AS IDENTITY, -- order of arrival
    step_us bigint NOT NULL,                     -- microseconds
    content bytea NOT NULL CHECK (octet_length(content) <= 262144), -- deltas; see internal/store/postgres/detailed.go
    PRIMARY KEY (task, seq),
    FOREIGN KEY (task, seq) REFERENCES observation ON DELETE CASCADE
);
CREATE INDEX detailed_series_newest ON detailed_series (task, id);

-- How callers executed the plans of tries. The service keeps the newest 256 of a task.
CREATE TABLE executed_plan (
    task     bigint NOT NULL,
    seq      bigint NOT NULL,
    id       bigint GENERATED ALWAYS AS IDENTITY, -- order of arrival
    version  integer NOT NULL,
    mode     text NOT NULL,
    followed boolean NOT NULL,
    body     jsonb NOT NULL,
    PRIMARY KEY (task, seq),
    FOREIGN KEY (task, seq) REFERENCES observation ON DELETE CASCADE
);
CREATE INDEX executed_plan_newest ON executed_plan (task, id);

-- What was learned about the runs of a task, as package taskplan encodes it. The columns series and
-- plans are the largest learned ids of detailed_series and executed_plan.
CREATE TABLE task_plan (
    task       bigint PRIMARY KEY REFERENCES task ON DELETE CASCADE,
    version    integer NOT NULL,
    format     integer NOT NULL, -- of content
    series     bigint NOT NULL,
    plans      bigint NOT NULL,
    learned_at timestamptz NOT NULL,
    content    bytea NOT NULL CHECK (octet_length(content) <= 2097152)
);

-- The sums of the runs, kills and costs under each rule that makes plans (plan.Pool in internal/ml/plan), over all tasks
-- of a namespace, as package taskplan encodes them.
CREATE TABLE plan_pool (
    namespace text COLLATE "C" PRIMARY KEY,
    version   integer NOT NULL,
    format    integer NOT NULL, -- of content
    content   bytea NOT NULL CHECK (octet_length(content) <= 2097152)
);

-- Copies the owner and the privileges of the table task.
DO $$
DECLARE
    granted record;
    created text;
BEGIN
    FOREACH created IN ARRAY ARRAY['detailed_series', 'executed_plan', 'task_plan', 'plan_pool'] LOOP
        EXECUTE format('ALTER TABLE %I OWNER TO %s', created, (SELECT relowner::regrole FROM pg_class WHERE oid = 'task'::regclass));
        FOR granted IN
            SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role
            FROM pg_class, aclexplode(relacl) WHERE oid = 'task'::regclass
        LOOP
            EXECUTE format('GRANT %s ON %I TO %s', granted.privilege_type, created, granted.role);
        END LOOP;
    END LOOP;
END $$;
