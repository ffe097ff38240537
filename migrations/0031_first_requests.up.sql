-- Records the static requests of reports in the order of the tries' times, not of their arrival, and only those of first tries.
-- An import can send the reports of a task in any order, and the request of a pod after an OOM kill is the lifted amount.
--
-- This step changes the function in place, so that it does not depend on the step that defined the function last.
DO $do$
DECLARE
    before  text := pg_get_functiondef('observation_requests'::regproc);
    changed text := replace(replace(before,
        'ORDER BY seq', 'ORDER BY at, seq'),
        'WHERE requested_memory IS NOT NULL OR requested_cpu IS NOT NULL', 'WHERE try_number = 1 AND (requested_memory IS NOT NULL OR requested_cpu IS NOT NULL)');
BEGIN
    IF changed NOT LIKE '%ORDER BY at, seq%try_number = 1%' OR changed NOT LIKE '%try_number = 1%ORDER BY at, seq%' THEN
        RAISE EXCEPTION 'function observation_requests does not read the requests as expected';
    END IF;
    EXECUTE changed;
END $do$;
