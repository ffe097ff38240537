-- Counts the memory of tries that executed a plan with the mean of their limits over time, instead of the
-- last limit for the whole run. Older reports keep what they were counted with.
ALTER TABLE observation ADD COLUMN mean_allocated bigint; -- null: allocated_memory for the whole run

-- Changes the function in place, so that the step does not depend on the one that defined it last. The
-- mean may be less than the peak; such a try has no unused memory.
DO $do$
DECLARE
    before  text := pg_get_functiondef('savings_change'::regproc);
    changed text := before;
BEGIN
    changed := replace(changed, 'coalesce(r.allocated_memory, r.requested_memory)', 'coalesce(r.mean_allocated, r.allocated_memory, r.requested_memory)');
    changed := replace(changed, 'sum(s.unused)', 'sum(CASE WHEN r.mean_allocated IS NULL THEN s.unused ELSE greatest(s.unused, 0) END)');
    IF changed = before THEN
        RAISE EXCEPTION 'function savings_change does not read the allocations as expected';
    END IF;
    EXECUTE changed;
END $do$;
