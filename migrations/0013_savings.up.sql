-- The savings ledger: sums of the granted, used and killed amounts of tries per task and UTC day. Its size
-- depends on the number of days, not on that of tries. Its sums stay when retention removes observations.
--
-- Triggers maintain it in the transaction of every report, every change of a report and every removal by /observe/void, even
-- for replicas of earlier versions. The writer already holds the task's lock in tally, so the rows cause no new waits.
-- Sums are exact: bytes and cores multiplied by microseconds.

CREATE TABLE savings_day (
    task          bigint NOT NULL REFERENCES task ON DELETE CASCADE,
    day           date NOT NULL,      -- of observation.at
    owner         text COLLATE "C",   -- always null: readers take the owner from the newest metadata of the task
    tries         bigint NOT NULL,
    successes     bigint NOT NULL,
    kills         bigint NOT NULL,    -- oom_killed and app_oom
    unaccounted   bigint NOT NULL,    -- successes and kills without a duration or an allocation
    unmeasured    bigint NOT NULL,    -- successes without a duration or a peak
    success_us    numeric NOT NULL,   -- durations of accounted successes
    granted       numeric NOT NULL,   -- allocation × duration of accounted successes
    killed        numeric NOT NULL,   -- allocation × duration of accounted kills
    used          numeric NOT NULL,   -- peak × duration of measured successes
    used_us       numeric NOT NULL,   -- durations of measured successes
    unused        numeric NOT NULL,   -- (allocation − peak) × duration of accounted, measured successes; since migration 32 at least 0 per try
    cpu_tries     bigint NOT NULL,    -- successes and kills with a duration and a CPU allocation
    cpu_us        numeric NOT NULL,   -- durations of the successes among them
    cpu_granted   numeric NOT NULL,
    cpu_killed    numeric NOT NULL,
    peaks         bigint NOT NULL,    -- successes with a peak
    peak_sum      numeric NOT NULL,
    peak_squares  numeric NOT NULL,
    UNIQUE NULLS NOT DISTINCT (task, day, owner)
) WITH (fillfactor = 50);             -- space for updates in place
CREATE INDEX savings_day_day ON savings_day (day);

-- The static request of a task. The columns memory and cpu are the amounts of the first known request.
-- Once known, they never change, because savings are counted against them. A prediction may come before the
-- task exists, so the rows refer to the task by text.
CREATE TABLE baseline (
    namespace   text COLLATE "C" NOT NULL,
    dag_id      text COLLATE "C" NOT NULL,
    task_id     text COLLATE "C" NOT NULL,
    memory      bigint, -- bytes
    memory_at   timestamptz,
    cpu         float8, -- cores
    cpu_at      timestamptz,
    last_memory bigint, -- the request recorded last; this migration sets it to the oldest request
    last_cpu    float8,
    PRIMARY KEY (namespace, dag_id, task_id)
);

-- Later requests that differ from the previous request; only the last request of each day.
CREATE TABLE baseline_change (
    namespace text COLLATE "C" NOT NULL,
    dag_id    text COLLATE "C" NOT NULL,
    task_id   text COLLATE "C" NOT NULL,
    day       date NOT NULL,
    at        timestamptz NOT NULL,
    memory    bigint,
    cpu       float8,
    PRIMARY KEY (namespace, dag_id, task_id, day)
);

-- The values that one try adds to the sums of its day. If a report has no allocation, the caller passes
-- the reported request (since migration 27 only the memory request).
CREATE FUNCTION savings_of(outcome smallint, duration_us bigint, peak bigint, allocated bigint, allocated_cpu float8)
RETURNS TABLE (successes int, kills int, unaccounted int, unmeasured int, success_us bigint, granted numeric, killed numeric,
    used numeric, used_us bigint, unused numeric, cpu_tries int, cpu_us bigint, cpu_granted numeric, cpu_killed numeric,
    peaks int, peak_sum bigint, peak_squares numeric)
LANGUAGE sql IMMUTABLE AS $$
    SELECT ok::int, oom::int,
        ((ok OR oom) AND (duration_us IS NULL OR allocated IS NULL))::int,
        (ok AND (duration_us IS NULL OR peak IS NULL))::int,
        CASE WHEN ok AND allocated IS NOT NULL THEN duration_us END,
        CASE WHEN ok THEN allocated::numeric * duration_us END,
        CASE WHEN oom THEN allocated::numeric * duration_us END,
        CASE WHEN ok THEN peak::numeric * duration_us END,
        CASE WHEN ok AND peak IS NOT NULL THEN duration_us END,
        CASE WHEN ok THEN (allocated - peak)::numeric * duration_us END,
        ((ok OR oom) AND duration_us IS NOT NULL AND allocated_cpu IS NOT NULL)::int,
        CASE WHEN ok AND allocated_cpu IS NOT NULL THEN duration_us END,
        CASE WHEN ok THEN allocated_cpu::numeric * duration_us END,
        CASE WHEN oom THEN allocated_cpu::numeric * duration_us END,
        (ok AND peak IS NOT NULL)::int,
        CASE WHEN ok THEN peak END,
        CASE WHEN ok THEN peak::numeric * peak END
    FROM (VALUES (outcome = 1, outcome IN (2, 3))) AS kind (ok, oom)
$$;

-- Adds inserted rows to the sums of their days, and subtracts deleted rows. A subtraction never
-- inserts a row into savings_day: if the day has no row, the task and its sums were deleted.
CREATE FUNCTION savings_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF TG_OP = 'DELETE' AND current_setting('loadaware.retention', true) = 'on' THEN
            RETURN NULL; -- the ledger keeps what retention removes
        END IF;
        UPDATE savings_day AS d
        SET tries = d.tries - o.tries, successes = d.successes - o.successes, kills = d.kills - o.kills,
            unaccounted = d.unaccounted - o.unaccounted, unmeasured = d.unmeasured - o.unmeasured,
            success_us = d.success_us - o.success_us, granted = d.granted - o.granted, killed = d.killed - o.killed,
            used = d.used - o.used, used_us = d.used_us - o.used_us, unused = d.unused - o.unused,
            cpu_tries = d.cpu_tries - o.cpu_tries, cpu_us = d.cpu_us - o.cpu_us,
            cpu_granted = d.cpu_granted - o.cpu_granted, cpu_killed = d.cpu_killed - o.cpu_killed,
            peaks = d.peaks - o.peaks, peak_sum = d.peak_sum - o.peak_sum, peak_squares = d.peak_squares - o.peak_squares
        FROM (
            SELECT r.task, (r.at AT TIME ZONE 'UTC')::date AS day, count(*) AS tries,
                sum(s.successes) AS successes, sum(s.kills) AS kills, sum(s.unaccounted) AS unaccounted, sum(s.unmeasured) AS unmeasured,
                coalesce(sum(s.success_us), 0) AS success_us, coalesce(sum(s.granted), 0) AS granted, coalesce(sum(s.killed), 0) AS killed,
                coalesce(sum(s.used), 0) AS used, coalesce(sum(s.used_us), 0) AS used_us, coalesce(sum(s.unused), 0) AS unused,
                sum(s.cpu_tries) AS cpu_tries, coalesce(sum(s.cpu_us), 0) AS cpu_us,
                coalesce(sum(s.cpu_granted), 0) AS cpu_granted, coalesce(sum(s.cpu_killed), 0) AS cpu_killed,
                sum(s.peaks) AS peaks, coalesce(sum(s.peak_sum), 0) AS peak_sum, coalesce(sum(s.peak_squares), 0) AS peak_squares
            FROM old_rows AS r, savings_of(r.outcome, r.duration_us, r.memory_max, coalesce(r.allocated_memory, r.requested_memory), coalesce(r.allocated_cpu, r.requested_cpu)) AS s
            GROUP BY 1, 2) AS o
        WHERE d.task = o.task AND d.day = o.day AND d.owner IS NULL;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO savings_day AS d (task, day, tries, successes, kills, unaccounted, unmeasured, success_us, granted, killed,
            used, used_us, unused, cpu_tries, cpu_us, cpu_granted, cpu_killed, peaks, peak_sum, peak_squares)
        SELECT r.task, (r.at AT TIME ZONE 'UTC')::date, count(*),
            sum(s.successes), sum(s.kills), sum(s.unaccounted), sum(s.unmeasured),
            coalesce(sum(s.success_us), 0), coalesce(sum(s.granted), 0), coalesce(sum(s.killed), 0),
            coalesce(sum(s.used), 0), coalesce(sum(s.used_us), 0), coalesce(sum(s.unused), 0),
            sum(s.cpu_tries), coalesce(sum(s.cpu_us), 0), coalesce(sum(s.cpu_granted), 0), coalesce(sum(s.cpu_killed), 0),
            sum(s.peaks), coalesce(sum(s.peak_sum), 0), coalesce(sum(s.peak_squares), 0)
        FROM new_rows AS r, savings_of(r.outcome, r.duration_us, r.memory_max, coalesce(r.allocated_memory, r.requested_memory), coalesce(r.allocated_cpu, r.requested_cpu)) AS s
        GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (task, day, owner) DO UPDATE
        SET tries = d.tries + excluded.tries, successes = d.successes + excluded.successes, kills = d.kills + excluded.kills,
            unaccounted = d.unaccounted + excluded.unaccounted, unmeasured = d.unmeasured + excluded.unmeasured,
            success_us = d.success_us + excluded.success_us, granted = d.granted + excluded.granted, killed = d.killed + excluded.killed,
            used = d.used + excluded.used, used_us = d.used_us + excluded.used_us, unused = d.unused + excluded.unused,
            cpu_tries = d.cpu_tries + excluded.cpu_tries, cpu_us = d.cpu_us + excluded.cpu_us,
            cpu_granted = d.cpu_granted + excluded.cpu_granted, cpu_killed = d.cpu_killed + excluded.cpu_killed,
            peaks = d.peaks + excluded.peaks, peak_sum = d.peak_sum + excluded.peak_sum, peak_squares = d.peak_squares + excluded.peak_squares;
    END IF;
    RETURN NULL;
END $$;

-- Records requests that differ from the last request of their task. The requests of a task are recorded in
-- the order of the arrays.
CREATE FUNCTION note_requests(namespaces text[], dags text[], tasks text[], times timestamptz[], memories bigint[], cores float8[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    r      record;
    before baseline;
BEGIN
    FOR r IN
        SELECT new.* FROM unnest(namespaces, dags, tasks, times, memories, cores) WITH ORDINALITY
            AS new (namespace, dag_id, task_id, at, memory, cpu, n)
        LEFT JOIN baseline AS b USING (namespace, dag_id, task_id)
        WHERE (b.last_memory IS DISTINCT FROM coalesce(new.memory, b.last_memory))
            OR (b.last_cpu IS DISTINCT FROM coalesce(new.cpu, b.last_cpu))
        ORDER BY new.namespace, new.dag_id, new.task_id, new.n -- the same order for all writers prevents deadlocks
    LOOP
        INSERT INTO baseline AS b VALUES (r.namespace, r.dag_id, r.task_id) ON CONFLICT DO NOTHING;
        SELECT * INTO before FROM baseline AS b
        WHERE b.namespace = r.namespace AND b.dag_id = r.dag_id AND b.task_id = r.task_id FOR NO KEY UPDATE;
        CONTINUE WHEN coalesce(r.memory = before.last_memory, r.memory IS NULL) AND coalesce(r.cpu = before.last_cpu, r.cpu IS NULL);
        UPDATE baseline AS b
        SET memory = coalesce(b.memory, r.memory), memory_at = CASE WHEN b.memory IS NULL AND r.memory IS NOT NULL THEN r.at ELSE b.memory_at END,
            cpu = coalesce(b.cpu, r.cpu), cpu_at = CASE WHEN b.cpu IS NULL AND r.cpu IS NOT NULL THEN r.at ELSE b.cpu_at END,
            last_memory = coalesce(r.memory, b.last_memory), last_cpu = coalesce(r.cpu, b.last_cpu)
        WHERE b.namespace = r.namespace AND b.dag_id = r.dag_id AND b.task_id = r.task_id;
        IF r.memory <> before.last_memory OR r.cpu <> before.last_cpu THEN
            INSERT INTO baseline_change AS c
            VALUES (r.namespace, r.dag_id, r.task_id, (r.at AT TIME ZONE 'UTC')::date, r.at,
                coalesce(r.memory, before.last_memory), coalesce(r.cpu, before.last_cpu))
            ON CONFLICT (namespace, dag_id, task_id, day) DO UPDATE
            SET at = excluded.at, memory = excluded.memory, cpu = excluded.cpu;
        END IF;
    END LOOP;
END $$;

-- Records the requests of reports. Most reports repeat the last request of their task; then one read of
-- baseline per task is enough.
CREATE FUNCTION observation_requests() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM (
            SELECT DISTINCT task, requested_memory, requested_cpu FROM new_rows
            WHERE requested_memory IS NOT NULL OR requested_cpu IS NOT NULL) AS r
        JOIN task ON task.id = r.task
        LEFT JOIN baseline AS b ON (b.namespace, b.dag_id, b.task_id) = (task.namespace, task.dag_id, task.task_id)
        WHERE b.last_memory IS DISTINCT FROM coalesce(r.requested_memory, b.last_memory)
            OR b.last_cpu IS DISTINCT FROM coalesce(r.requested_cpu, b.last_cpu))
    THEN
        RETURN NULL;
    END IF;
    PERFORM note_requests(array_agg(namespace ORDER BY seq), array_agg(dag_id ORDER BY seq), array_agg(task_id ORDER BY seq),
        array_agg(at ORDER BY seq), array_agg(requested_memory ORDER BY seq), array_agg(requested_cpu ORDER BY seq))
    FROM (
        SELECT r.*, task.namespace, task.dag_id, task.task_id,
            lag(requested_memory) OVER tries AS memory_before, lag(requested_cpu) OVER tries AS cpu_before
        FROM new_rows AS r JOIN task ON task.id = r.task
        WHERE requested_memory IS NOT NULL OR requested_cpu IS NOT NULL
        WINDOW tries AS (PARTITION BY r.task ORDER BY seq)) AS r
    WHERE requested_memory IS DISTINCT FROM memory_before OR requested_cpu IS DISTINCT FROM cpu_before;
    RETURN NULL;
END $$;

-- Renames the baseline of a renamed task, and deletes the baseline of a deleted task.
CREATE FUNCTION baseline_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM baseline_change WHERE (namespace, dag_id, task_id) = (NEW.namespace, NEW.dag_id, NEW.task_id);
        DELETE FROM baseline WHERE (namespace, dag_id, task_id) = (NEW.namespace, NEW.dag_id, NEW.task_id);
        UPDATE baseline_change SET namespace = NEW.namespace, dag_id = NEW.dag_id, task_id = NEW.task_id
        WHERE (namespace, dag_id, task_id) = (OLD.namespace, OLD.dag_id, OLD.task_id);
        UPDATE baseline SET namespace = NEW.namespace, dag_id = NEW.dag_id, task_id = NEW.task_id
        WHERE (namespace, dag_id, task_id) = (OLD.namespace, OLD.dag_id, OLD.task_id);
    ELSE
        DELETE FROM baseline_change WHERE (namespace, dag_id, task_id) = (OLD.namespace, OLD.dag_id, OLD.task_id);
        DELETE FROM baseline WHERE (namespace, dag_id, task_id) = (OLD.namespace, OLD.dag_id, OLD.task_id);
    END IF;
    RETURN NULL;
END $$;

-- No report may arrive between the sums of the stored reports and the creation of the triggers.
LOCK TABLE task, observation IN SHARE ROW EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

INSERT INTO savings_day (task, day, tries, successes, kills, unaccounted, unmeasured, success_us, granted, killed,
    used, used_us, unused, cpu_tries, cpu_us, cpu_granted, cpu_killed, peaks, peak_sum, peak_squares)
SELECT r.task, (r.at AT TIME ZONE 'UTC')::date, count(*),
    sum(s.successes), sum(s.kills), sum(s.unaccounted), sum(s.unmeasured),
    coalesce(sum(s.success_us), 0), coalesce(sum(s.granted), 0), coalesce(sum(s.killed), 0),
    coalesce(sum(s.used), 0), coalesce(sum(s.used_us), 0), coalesce(sum(s.unused), 0),
    sum(s.cpu_tries), coalesce(sum(s.cpu_us), 0), coalesce(sum(s.cpu_granted), 0), coalesce(sum(s.cpu_killed), 0),
    sum(s.peaks), coalesce(sum(s.peak_sum), 0), coalesce(sum(s.peak_squares), 0)
FROM observation AS r, savings_of(r.outcome, r.duration_us, r.memory_max, coalesce(r.allocated_memory, r.requested_memory), coalesce(r.allocated_cpu, r.requested_cpu)) AS s
GROUP BY 1, 2;

-- The baselines of existing tasks are the oldest requests in their stored reports, or else the requests in
-- their oldest receipts of tries.
INSERT INTO baseline (namespace, dag_id, task_id, memory, memory_at, cpu, cpu_at, last_memory, last_cpu)
SELECT task.namespace, task.dag_id, task.task_id,
    coalesce(m.requested_memory, p.memory), CASE WHEN m.requested_memory IS NULL THEN p.at ELSE m.at END,
    coalesce(c.requested_cpu, p.cpu), CASE WHEN c.requested_cpu IS NULL THEN p.at ELSE c.at END,
    coalesce(m.requested_memory, p.memory), coalesce(c.requested_cpu, p.cpu)
FROM task
LEFT JOIN LATERAL (
    SELECT requested_memory, at FROM observation
    WHERE task = task.id AND requested_memory IS NOT NULL ORDER BY seq LIMIT 1) AS m ON true
LEFT JOIN LATERAL (
    SELECT requested_cpu, at FROM observation
    WHERE task = task.id AND requested_cpu IS NOT NULL ORDER BY seq LIMIT 1) AS c ON true
LEFT JOIN LATERAL (
    SELECT nullif((body->'Ask'->'Requested'->>'Memory')::bigint, 0) AS memory, nullif((body->'Ask'->'Requested'->>'CPU')::float8, 0) AS cpu, at
    FROM receipt
    WHERE (namespace, dag_id, task_id) = (task.namespace, task.dag_id, task.task_id) AND run_id <> ''
    ORDER BY at LIMIT 1) AS p ON true
WHERE coalesce(m.requested_memory, p.memory) IS NOT NULL OR coalesce(c.requested_cpu, p.cpu) IS NOT NULL;

CREATE TRIGGER savings_insert AFTER INSERT ON observation
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION savings_change();
CREATE TRIGGER savings_update AFTER UPDATE ON observation
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION savings_change();
CREATE TRIGGER savings_delete AFTER DELETE ON observation
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION savings_change();
CREATE TRIGGER requests_insert AFTER INSERT ON observation
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION observation_requests();
CREATE TRIGGER requests_update AFTER UPDATE ON observation
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION observation_requests();
CREATE TRIGGER baseline_follow AFTER UPDATE OF namespace, dag_id, task_id ON task
    FOR EACH ROW EXECUTE FUNCTION baseline_follow();
CREATE TRIGGER baseline_end AFTER DELETE ON task
    FOR EACH ROW EXECUTE FUNCTION baseline_follow();
