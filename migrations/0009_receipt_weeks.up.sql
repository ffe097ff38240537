-- Partitions receipts, so that retention can drop a week instead of deleting rows. Only the catalogue
-- changes, because the validated bound makes a scan unnecessary, and existing indexes are attached.
-- Retention creates the partitions of later weeks in advance. Receipts outside all partitions go to receipt_other.

ALTER TABLE receipt RENAME TO receipt_before;
ALTER INDEX receipt_pkey RENAME TO receipt_before_pkey;
ALTER INDEX receipt_newest RENAME TO receipt_before_newest;
ALTER INDEX receipt_try RENAME TO receipt_before_try;
ALTER INDEX receipt_time RENAME TO receipt_before_time;

CREATE TABLE receipt (LIKE receipt_before, PRIMARY KEY (prediction_id)) PARTITION BY RANGE (prediction_id);
CREATE INDEX receipt_newest ON receipt (namespace, dag_id, task_id, at);
CREATE INDEX receipt_try ON receipt (namespace, dag_id, task_id, run_id, map_index, try_number, at) WHERE run_id <> '';
CREATE INDEX receipt_time ON receipt USING brin (at);
CREATE TABLE receipt_other PARTITION OF receipt DEFAULT;

DO $$
DECLARE
    bound   text := (SELECT substring(pg_get_constraintdef(oid) FROM 'E?''.*''') FROM pg_constraint
                     WHERE conrelid = 'receipt_before'::regclass AND conname = 'receipt_bound');
    granted record;
BEGIN
    EXECUTE 'ALTER TABLE receipt ATTACH PARTITION receipt_before FOR VALUES FROM (MINVALUE) TO (' || bound || ')';
    -- The owner and the privileges stay.
    EXECUTE format('ALTER TABLE receipt OWNER TO %s', (SELECT relowner::regrole FROM pg_class WHERE oid = 'receipt_before'::regclass));
    EXECUTE format('ALTER TABLE receipt_other OWNER TO %s', (SELECT relowner::regrole FROM pg_class WHERE oid = 'receipt_before'::regclass));
    FOR granted IN
        SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS to_whom
        FROM pg_class, aclexplode(relacl) WHERE oid = 'receipt_before'::regclass
    LOOP
        EXECUTE format('GRANT %s ON receipt TO %s', granted.privilege_type, granted.to_whom);
    END LOOP;
END $$;
ALTER TABLE receipt_before DROP CONSTRAINT receipt_bound;
