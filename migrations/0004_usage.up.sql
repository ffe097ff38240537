-- Sampled peaks, and lookups of tries with missing or incomplete reports.

ALTER TABLE observation
    ADD COLUMN memory_sampled bigint,                        -- the largest sample of a monitoring system
    ADD COLUMN sampled_only   boolean NOT NULL DEFAULT false; -- no measured peak: memory_max equals memory_sampled

-- Tries with both peaks show how much sampling misses.
CREATE INDEX observation_both ON observation (at)
    WHERE outcome = 1 AND memory_sampled IS NOT NULL AND NOT sampled_only;

-- Rows mostly arrive in the order of time. For this order BRIN indexes are small and cheap.
CREATE INDEX observation_time ON observation USING brin (at);
CREATE INDEX receipt_time ON receipt USING brin (at);

-- Lookups of tries in the sources, such as Prometheus. Like receipts, these rows refer to their task by text.
-- The service deletes a row after the last possible lookup of its try.
CREATE TABLE inquiry (
    namespace  text COLLATE "C" NOT NULL,
    dag_id     text COLLATE "C" NOT NULL,
    task_id    text COLLATE "C" NOT NULL,
    run_id     text COLLATE "C" NOT NULL,
    map_index  integer NOT NULL,
    try_number smallint NOT NULL,
    asked_at   timestamptz NOT NULL,
    again_at   timestamptz, -- the next lookup; null if the try is not looked up again
    PRIMARY KEY (namespace, dag_id, task_id, run_id, map_index, try_number)
);

-- Leases of background jobs that one replica runs for all replicas.
CREATE TABLE duty (
    name  text COLLATE "C" PRIMARY KEY,
    owner text NOT NULL,
    until timestamptz NOT NULL
);
