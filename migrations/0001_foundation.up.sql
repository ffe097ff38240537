-- The six core tables. Null means "unknown" in columns without another explanation of null.
-- Ids sort by bytes (COLLATE "C"), so that pages have the same order on every machine.

CREATE TABLE task (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace      text COLLATE "C" NOT NULL,
    dag_id         text COLLATE "C" NOT NULL,
    task_id        text COLLATE "C" NOT NULL,
    schema         jsonb NOT NULL DEFAULT '{}', -- order and codes of observation.features; only extended, never reduced
    active_version integer,                     -- a version in model; null if none is active
    policy         jsonb,                       -- null if not set
    UNIQUE (namespace, dag_id, task_id)
);

-- One row per task, which every writer of observations of the task locks first. Therefore seq is the order of commit within
-- a task, writers cannot deadlock, and the counters are exact.
CREATE TABLE tally (
    task         bigint PRIMARY KEY REFERENCES task ON DELETE CASCADE,
    observations bigint NOT NULL DEFAULT 0,
    kills        bigint NOT NULL DEFAULT 0,
    due_at       timestamptz -- when the task is due for training; null if there is nothing new
) WITH (fillfactor = 50);    -- space for updates in place

-- The lease of the training of each task. A claim locks one row and skips locked rows. The table is separate from tally,
-- because writers of observations lock tally, and a claim must not skip the tasks that they write.
CREATE TABLE lease (
    task      bigint PRIMARY KEY REFERENCES task ON DELETE CASCADE,
    token     bigint NOT NULL DEFAULT 0, -- number of claims so far
    owner     text,
    until     timestamptz,               -- null if free
    due_since timestamptz                -- the due_at that was claimed
) WITH (fillfactor = 50);

CREATE TABLE observation (
    seq              bigint GENERATED ALWAYS AS IDENTITY,
    task             bigint NOT NULL REFERENCES task ON DELETE CASCADE,
    at               timestamptz NOT NULL, -- the end of the try, or else its start, or else (also for an implausible time) the arrival of the report
    started_at       timestamptz,
    ended_at         timestamptz,
    duration_us      bigint,               -- microseconds
    memory_max       bigint,               -- bytes
    allocated_memory bigint,
    requested_memory bigint,
    cpu_max          float8,               -- cores
    allocated_cpu    float8,
    requested_cpu    float8,
    -- the peak memory: memory_max after a success, a lower bound of the peak after an OOM kill
    peak             bigint GENERATED ALWAYS AS (CASE
                         WHEN outcome = 1 THEN memory_max
                         WHEN outcome IN (2, 3) THEN greatest(memory_max, allocated_memory)
                     END) STORED,
    map_index        integer NOT NULL,
    lot              integer NOT NULL,     -- sample rank: a hash of the try; the rows of lowest rank are a fixed uniform sample
    try_number       smallint NOT NULL,
    outcome          smallint NOT NULL,    -- 1 success, 2 oom_killed, 3 app_oom, 4 failed, 5 killed, 6 evicted, 7 unschedulable
    provisional      boolean NOT NULL,     -- the outcome comes from a lift request or a lookup; the reporter of the try has not confirmed it
    run_id           text COLLATE "C" NOT NULL,
    prediction_id    text COLLATE "C",
    features         float8[],             -- encoded by task.schema at the time of the report; NaN is missing
    PRIMARY KEY (task, seq),
    UNIQUE (task, run_id, map_index, try_number)
);
CREATE INDEX observation_newest ON observation (task, at, seq);
CREATE INDEX observation_highest ON observation (task, peak, seq) WHERE peak IS NOT NULL;
CREATE INDEX observation_sample ON observation (task, lot);

-- Receipts refer to their task by text, because a prediction for an unknown task creates no task.
CREATE TABLE receipt (
    prediction_id text COLLATE "C" PRIMARY KEY,
    namespace     text COLLATE "C" NOT NULL,
    dag_id        text COLLATE "C" NOT NULL,
    task_id       text COLLATE "C" NOT NULL,
    run_id        text COLLATE "C" NOT NULL, -- empty for a prediction that belongs to no run
    map_index     integer NOT NULL,
    try_number    smallint NOT NULL,
    at            timestamptz NOT NULL,
    promised      float8,                    -- promised risk of the granted amount
    task_limit    bigint,                    -- granted limit in bytes
    guard         float8[],                  -- sizing.Guard.Params: the state of the model's safety margins; a value may be infinite, which JSON cannot represent
    body          json NOT NULL
);
CREATE INDEX receipt_newest ON receipt (namespace, dag_id, task_id, at);
CREATE INDEX receipt_try ON receipt (namespace, dag_id, task_id, run_id, map_index, try_number, at) WHERE run_id <> '';

CREATE TABLE model (
    task         bigint NOT NULL REFERENCES task ON DELETE CASCADE,
    version      integer NOT NULL,
    family       text NOT NULL, -- kind of the model, such as experts
    format       integer NOT NULL,
    observations bigint NOT NULL,
    last_seq     bigint NOT NULL,
    trained_at   timestamptz NOT NULL,
    -- the evaluation that selected the model
    exam         json,
    blob         bytea NOT NULL,
    PRIMARY KEY (task, version)
);
