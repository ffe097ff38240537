-- Peaks that were sampled, and who was asked about tries that nobody told of.

ALTER TABLE observation
    ADD COLUMN memory_sampled bigint,                        -- largest sample of a monitoring system
    ADD COLUMN sampled_only   boolean NOT NULL DEFAULT false; -- nobody measured: memory_max is memory_sampled

-- What sampling misses is learned from the tries that have both.
CREATE INDEX observation_both ON observation (at)
    WHERE outcome = 1 AND memory_sampled IS NOT NULL AND NOT sampled_only;

-- Both are written in the order of time: an index of ranges costs them next to nothing.
CREATE INDEX observation_time ON observation USING brin (at);
CREATE INDEX receipt_time ON receipt USING brin (at);

-- Tries that a monitoring system was asked about. They name their task by text, as
-- receipts do, and are forgotten when nobody would ask about them any more.
CREATE TABLE inquiry (
    namespace  text COLLATE "C" NOT NULL,
    dag_id     text COLLATE "C" NOT NULL,
    task_id    text COLLATE "C" NOT NULL,
    run_id     text COLLATE "C" NOT NULL,
    map_index  integer NOT NULL,
    try_number smallint NOT NULL,
    asked_at   timestamptz NOT NULL,
    again_at   timestamptz, -- null: it is settled
    PRIMARY KEY (namespace, dag_id, task_id, run_id, map_index, try_number)
);

-- Background work that one replica does for all.
CREATE TABLE duty (
    name  text COLLATE "C" PRIMARY KEY,
    owner text NOT NULL,
    until timestamptz NOT NULL
);
