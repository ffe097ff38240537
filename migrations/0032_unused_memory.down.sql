LOCK TABLE task IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE tally IN EXCLUSIVE MODE;
LOCK TABLE observation IN SHARE ROW EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

DO $do$
DECLARE
    before  text := pg_get_functiondef('savings_change'::regproc);
    changed text := replace(before, 'sum(greatest(s.unused, 0))', 'sum(CASE WHEN r.mean_allocated IS NULL THEN s.unused ELSE greatest(s.unused, 0) END)');
BEGIN
    IF changed = before THEN
        RAISE EXCEPTION 'function savings_change does not read the unused memory as expected';
    END IF;
    EXECUTE changed;
END $do$;

-- Reduces the sums by the negative amounts that the function counts again. The sums keep the amounts of reports that
-- retention has removed.
UPDATE savings_day AS d
SET unused = d.unused - o.subtracted
FROM (
    SELECT r.task, (r.at AT TIME ZONE 'UTC')::date AS day, sum(-s.unused) AS subtracted
    FROM observation AS r,
        savings_of(r.outcome, r.duration_us, r.memory_max, coalesce(r.allocated_memory, r.requested_memory), NULL) AS s
    WHERE r.mean_allocated IS NULL AND s.unused < 0 AND NOT starts_with(r.run_id, 'loadaware_campaign__')
    GROUP BY 1, 2) AS o
WHERE d.task = o.task AND d.day = o.day AND d.owner IS NULL;
