-- Records requests in the order of arrival, and those of all tries, by the inverse of the replacement in the up migration.
DO $do$
BEGIN
    EXECUTE replace(replace(pg_get_functiondef('observation_requests'::regproc),
        'ORDER BY at, seq', 'ORDER BY seq'),
        'WHERE try_number = 1 AND (requested_memory IS NOT NULL OR requested_cpu IS NOT NULL)', 'WHERE requested_memory IS NOT NULL OR requested_cpu IS NOT NULL');
END $do$;
