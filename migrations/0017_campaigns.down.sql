-- Lets the savings ledger and the baselines count reproduced runs again, by the inverse of the replacement in the up
-- migration.
DO $do$
DECLARE
    changed text;
    name    text;
    rows    text;
    own     text;
BEGIN
    FOREACH name IN ARRAY ARRAY['savings_change', 'observation_requests'] LOOP
        changed := pg_get_functiondef(name::regproc);
        FOREACH rows IN ARRAY ARRAY['old_rows', 'new_rows'] LOOP
            own := format('(SELECT * FROM %s WHERE NOT starts_with(run_id, %L))', rows, 'loadaware_campaign__');
            changed := replace(replace(changed, own || ' AS own', rows), own, rows);
        END LOOP;
        EXECUTE changed;
    END LOOP;
END $do$;
DROP TABLE campaign_run;
DROP TABLE campaign;
