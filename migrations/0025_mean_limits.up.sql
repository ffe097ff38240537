-- In the ledger of savings, the granted memory of a try that executed a plan becomes the mean of its limits
-- over time, instead of the last limit for the whole run. The amounts of older reports do not change.
ALTER TABLE observation ADD COLUMN mean_allocated bigint; -- null: allocated_memory, or else requested_memory, for the whole run

-- Changes the function savings_change in place, so that this step does not depend on the step that last
-- defined it. The mean may be less than the peak; then the try has no unused memory.
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
