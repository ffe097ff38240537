-- A try has no unused memory if its peak is above the allocation that counts for it. Before this migration, such a try reduced
-- the unused memory of other tries. This was usual for reports without an allocation, which count with their
-- memory request: without a limit, a pod can use more than its request.
--
-- No report may arrive, and no months may be added up, between the change of the function and the change of the
-- sums. The order of the tables is that in which writers lock them.
LOCK TABLE task IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE tally IN EXCLUSIVE MODE; -- SumMonths locks rows of tally before it reads the days
LOCK TABLE observation IN SHARE ROW EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

-- Changed in place, so that this step does not depend on the step that defined the function last.
DO $do$
DECLARE
    before  text := pg_get_functiondef('savings_change'::regproc);
    changed text := replace(before, 'sum(CASE WHEN r.mean_allocated IS NULL THEN s.unused ELSE greatest(s.unused, 0) END)', 'sum(greatest(s.unused, 0))');
BEGIN
    IF changed = before THEN
        RAISE EXCEPTION 'function savings_change does not read the unused memory as expected';
    END IF;
    EXECUTE changed;
END $do$;

-- Adds what the stored reports have subtracted. Reports that retention has removed can have subtracted more; what they
-- subtracted is unknown, but the sum of a day is at least that of its stored reports.
UPDATE savings_day AS d
SET unused = greatest(d.unused + o.subtracted, o.unused)
FROM (
    SELECT r.task, (r.at AT TIME ZONE 'UTC')::date AS day, sum(greatest(s.unused, 0)) AS unused,
        coalesce(sum(greatest(-s.unused, 0)) FILTER (WHERE r.mean_allocated IS NULL), 0) AS subtracted
    FROM observation AS r,
        savings_of(r.outcome, r.duration_us, r.memory_max, coalesce(r.mean_allocated, r.allocated_memory, r.requested_memory), NULL) AS s
    WHERE NOT starts_with(r.run_id, 'loadaware_campaign__')
    GROUP BY 1, 2) AS o
WHERE d.task = o.task AND d.day = o.day AND d.owner IS NULL AND d.unused < greatest(d.unused + o.subtracted, o.unused);

UPDATE savings_day SET unused = 0 WHERE unused < 0; -- days without stored reports
