-- The time is proportional to the number of receipts, which are all copied.
LOCK TABLE receipt IN ACCESS EXCLUSIVE MODE;
ALTER TABLE receipt RENAME TO receipt_parted;
CREATE TABLE receipt (LIKE receipt_parted);
INSERT INTO receipt SELECT * FROM receipt_parted;
DO $$
DECLARE
    granted record;
BEGIN
    EXECUTE format('ALTER TABLE receipt OWNER TO %s', (SELECT relowner::regrole FROM pg_class WHERE oid = 'receipt_parted'::regclass));
    FOR granted IN
        SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS to_whom
        FROM pg_class, aclexplode(relacl) WHERE oid = 'receipt_parted'::regclass
    LOOP
        EXECUTE format('GRANT %s ON receipt TO %s', granted.privilege_type, granted.to_whom);
    END LOOP;
END $$;
DROP TABLE receipt_parted;
ALTER TABLE receipt ADD CONSTRAINT receipt_pkey PRIMARY KEY (prediction_id);
CREATE INDEX receipt_newest ON receipt (namespace, dag_id, task_id, at);
CREATE INDEX receipt_try ON receipt (namespace, dag_id, task_id, run_id, map_index, try_number, at) WHERE run_id <> '';
CREATE INDEX receipt_time ON receipt USING brin (at);

-- Restores the constraint that step 7 added and step 8 validated.
DO $$
DECLARE
    monday timestamp := date_trunc('week', now() AT TIME ZONE 'UTC') + interval '5 weeks';
    ms     bigint := extract(epoch FROM monday) * 1000;
    bound  text COLLATE "C" := lpad(to_hex(ms >> 16), 8, '0') || '-' || lpad(to_hex(ms & 65535), 4, '0');
BEGIN
    SELECT greatest(bound, max(prediction_id) || '0') INTO bound FROM receipt;
    EXECUTE format('ALTER TABLE receipt ADD CONSTRAINT receipt_bound CHECK (prediction_id < %L)', bound);
END $$;
