-- Makes the ledger count the allocation of each stored report instead of its mean limit, because the previous version of
-- loadaware subtracts the allocation of a voided report. The sums keep the mean limits of reports that retention has
-- removed.
LOCK TABLE observation IN ACCESS EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;
ALTER TABLE observation DISABLE TRIGGER requests_update; -- no request changes
UPDATE observation SET mean_allocated = NULL WHERE mean_allocated IS NOT NULL;
ALTER TABLE observation ENABLE TRIGGER requests_update;

DO $do$
BEGIN
    EXECUTE replace(replace(pg_get_functiondef('savings_change'::regproc),
        'coalesce(r.mean_allocated, r.allocated_memory, r.requested_memory)', 'coalesce(r.allocated_memory, r.requested_memory)'),
        'sum(CASE WHEN r.mean_allocated IS NULL THEN s.unused ELSE greatest(s.unused, 0) END)', 'sum(s.unused)');
END $do$;
ALTER TABLE observation DROP COLUMN mean_allocated;
