-- Counts the CPU of a try in the savings only if its report has a CPU allocation. Before this migration, a try without a
-- CPU allocation counted with its request, so that each OOM kill of such a try reduced the saved core
-- hours of its task.
--
-- No report may arrive between the change of the function and the change of the sums.
LOCK TABLE task, observation IN SHARE ROW EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

-- Changed in place, so that this step does not depend on the step that defined the function last.
DO $do$
DECLARE
    before  text := pg_get_functiondef('savings_change'::regproc);
    changed text := replace(before, 'coalesce(r.allocated_cpu, r.requested_cpu)', 'r.allocated_cpu');
BEGIN
    IF changed = before THEN
        RAISE EXCEPTION 'function savings_change does not read the allocations as expected';
    END IF;
    EXECUTE changed;
END $do$;

-- Subtracts what the stored reports have added. The sums keep the amounts of reports that retention has removed.
UPDATE savings_day AS d
SET cpu_tries = d.cpu_tries - o.cpu_tries, cpu_us = d.cpu_us - o.cpu_us,
    cpu_granted = d.cpu_granted - o.cpu_granted, cpu_killed = d.cpu_killed - o.cpu_killed
FROM (
    SELECT r.task, (r.at AT TIME ZONE 'UTC')::date AS day, sum(s.cpu_tries) AS cpu_tries, coalesce(sum(s.cpu_us), 0) AS cpu_us,
        coalesce(sum(s.cpu_granted), 0) AS cpu_granted, coalesce(sum(s.cpu_killed), 0) AS cpu_killed
    FROM observation AS r, savings_of(r.outcome, r.duration_us, NULL, NULL, r.requested_cpu) AS s
    WHERE r.allocated_cpu IS NULL AND r.requested_cpu IS NOT NULL AND NOT starts_with(r.run_id, 'loadaware_campaign__')
    GROUP BY 1, 2) AS o
WHERE d.task = o.task AND d.day = o.day AND d.owner IS NULL;
