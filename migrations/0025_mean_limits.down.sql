-- The stored sums of days are not counted again: they still contain the means.
DO $do$
BEGIN
    EXECUTE replace(replace(pg_get_functiondef('savings_change'::regproc),
        'coalesce(r.mean_allocated, r.allocated_memory, r.requested_memory)', 'coalesce(r.allocated_memory, r.requested_memory)'),
        'sum(CASE WHEN r.mean_allocated IS NULL THEN s.unused ELSE greatest(s.unused, 0) END)', 'sum(s.unused)');
END $do$;
ALTER TABLE observation DROP COLUMN mean_allocated;
