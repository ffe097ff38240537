-- What is kept, in six tables. Null means "not known" everywhere.
-- Ids compare by bytes (COLLATE "C"), so that pages have one order on every machine.

CREATE TABLE task (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace      text COLLATE "C" NOT NULL,
    dag_id         text COLLATE "C" NOT NULL,
    task_id        text COLLATE "C" NOT NULL,
    schema         jsonb NOT NULL DEFAULT '{}', -- order and codes of observation.features; only grows
    active_version integer,                     -- of model; null: none
    policy         jsonb,                       -- null: never set
    UNIQUE (namespace, dag_id, task_id)
);

-- One row a task, locked first by whoever writes observations of it. Hence seq
-- is the order of commit within a task, writers cannot deadlock, and the counts
-- are exact without counting.
CREATE TABLE tally (
    task         bigint PRIMARY KEY REFERENCES task ON DELETE CASCADE,
    observations bigint NOT NULL DEFAULT 0,
    kills        bigint NOT NULL DEFAULT 0,
    due_at       timestamptz -- when what nobody has claimed yet is to be learned; null: nothing new
) WITH (fillfactor = 50);    -- room to update in place

-- One row a task, locked by claimers only: a busy writer never hides a task from them.
CREATE TABLE lease (
    task      bigint PRIMARY KEY REFERENCES task ON DELETE CASCADE,
    token     bigint NOT NULL DEFAULT 0, -- counts the claims
    owner     text,
    until     timestamptz,               -- null: free
    due_since timestamptz                -- the due_at that was claimed
) WITH (fillfactor = 50);

CREATE TABLE observation (
    seq              bigint GENERATED ALWAYS AS IDENTITY,
    task             bigint NOT NULL REFERENCES task ON DELETE CASCADE,
    at               timestamptz NOT NULL, -- ended, else started, else recorded
    started_at       timestamptz,
    ended_at         timestamptz,
    duration_us      bigint,               -- microseconds
    memory_max       bigint,               -- bytes
    allocated_memory bigint,
    requested_memory bigint,
    cpu_max          float8,               -- cores
    allocated_cpu    float8,
    requested_cpu    float8,
    -- what the try tells of the memory needed: measured by a success, a lower bound by an OOM
    peak             bigint GENERATED ALWAYS AS (CASE
                         WHEN outcome = 1 THEN memory_max
                         WHEN outcome IN (2, 3) THEN greatest(memory_max, allocated_memory)
                     END) STORED,
    map_index        integer NOT NULL,
    lot              integer NOT NULL,     -- hash of the try: the lowest lots are a fixed uniform sample
    try_number       smallint NOT NULL,
    outcome          smallint NOT NULL,    -- 1 success, 2 oom_killed, 3 app_oom, 4 failed, 5 killed, 6 evicted, 7 unschedulable
    provisional      boolean NOT NULL,
    run_id           text COLLATE "C" NOT NULL,
    prediction_id    text COLLATE "C",
    features         float8[],             -- by task.schema as it was then; NaN: missing
    PRIMARY KEY (task, seq),
    UNIQUE (task, run_id, map_index, try_number)
);
CREATE INDEX observation_newest ON observation (task, at, seq);
CREATE INDEX observation_highest ON observation (task, peak, seq) WHERE peak IS NOT NULL;
CREATE INDEX observation_sample ON observation (task, lot);

-- Receipts name their task by text: an ask about an unknown task creates none.
CREATE TABLE receipt (
    prediction_id text COLLATE "C" PRIMARY KEY,
    namespace     text COLLATE "C" NOT NULL,
    dag_id        text COLLATE "C" NOT NULL,
    task_id       text COLLATE "C" NOT NULL,
    run_id        text COLLATE "C" NOT NULL, -- empty: an ad-hoc look-up, which is no try
    map_index     integer NOT NULL,
    try_number    smallint NOT NULL,
    at            timestamptz NOT NULL,
    promised      float8,                    -- risk of the try as granted
    task_limit    bigint,                    -- bytes granted as the limit
    guard         float8[],                  -- margins, which JSON could not hold: they may be infinite
    body          json NOT NULL
);
CREATE INDEX receipt_newest ON receipt (namespace, dag_id, task_id, at);
CREATE INDEX receipt_try ON receipt (namespace, dag_id, task_id, run_id, map_index, try_number, at) WHERE run_id <> '';

CREATE TABLE model (
    task         bigint NOT NULL REFERENCES task ON DELETE CASCADE,
    version      integer NOT NULL,
    family       text NOT NULL,
    format       integer NOT NULL,
    observations bigint NOT NULL,
    last_seq     bigint NOT NULL,
    trained_at   timestamptz NOT NULL,
    exam         json,
    blob         bytea NOT NULL,
    PRIMARY KEY (task, version)
);
