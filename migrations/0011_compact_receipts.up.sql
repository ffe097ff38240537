-- Receipts in a compact form, which takes less than a quarter of the size of JSON (BenchmarkSaveReceipts in
-- internal/store/postgres). Older receipts stay in table receipt until retention removes them. Readers read both tables.

-- The time from which receipts are written in the compact form. Replicas of the previous version cannot
-- read this form. Therefore replicas write it to a database in use only after a day, which leaves time for
-- a rolling upgrade or a return to the previous version.
CREATE TABLE receipt_format (
    compact_from timestamptz NOT NULL
);
INSERT INTO receipt_format (compact_from)
SELECT CASE WHEN EXISTS (SELECT FROM receipt) OR EXISTS (SELECT FROM task) THEN now() + interval '24 hours' ELSE '-infinity' END;

-- The tasks of receipts. A prediction for an unknown task creates a row here, but no row in task.
CREATE TABLE receipt_name (
    id        integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace text COLLATE "C" NOT NULL,
    dag_id    text COLLATE "C" NOT NULL,
    task_id   text COLLATE "C" NOT NULL,
    UNIQUE (namespace, dag_id, task_id)
);

-- Texts that the receipts of a task repeat: names of features, categories, reasons without their
-- numbers. Rows are never changed, because receipt_compact.content refers to them by position.
CREATE TABLE receipt_word (
    name     integer NOT NULL REFERENCES receipt_name ON DELETE CASCADE,
    position smallint NOT NULL,
    word     text COLLATE "C" NOT NULL,
    PRIMARY KEY (name, position)
);

-- The columns of receipt in an order without padding. Like receipt, it is partitioned by week.
CREATE TABLE receipt_compact (
    prediction_id uuid NOT NULL,
    at            timestamptz NOT NULL,
    promised      float8,
    task_limit    bigint NOT NULL,
    told          bigint NOT NULL,
    name          integer NOT NULL, -- id in receipt_name; every writer checks it
    map_index     integer NOT NULL,
    model_version integer,
    try_number    smallint NOT NULL,
    run_id        text COLLATE "C" NOT NULL,
    content       bytea NOT NULL,   -- all other fields
    PRIMARY KEY (prediction_id)
) PARTITION BY RANGE (prediction_id);
CREATE INDEX receipt_compact_newest ON receipt_compact (name, at);
CREATE INDEX receipt_compact_try ON receipt_compact (name, (hashtext(run_id) # map_index)) WHERE run_id <> '';
CREATE INDEX receipt_compact_time ON receipt_compact USING brin (at);
CREATE TABLE receipt_compact_other PARTITION OF receipt_compact DEFAULT;

-- Creates the partitions of the first weeks. Retention creates later partitions in the same way.
DO $$
DECLARE
    monday timestamp := date_trunc('week', now() AT TIME ZONE 'UTC');
    first  text; -- the lowest id of a week
    next   text; -- the lowest id of the next week
BEGIN
    FOR n IN 0..5 LOOP
        next := lpad(to_hex((extract(epoch FROM monday + n * interval '1 week') * 1000)::bigint), 12, '0');
        next := left(next, 8) || '-' || right(next, 4) || '-0000-0000-000000000000';
        IF n = 0 THEN
            EXECUTE format('CREATE TABLE receipt_compact_before PARTITION OF receipt_compact FOR VALUES FROM (MINVALUE) TO (%L)', next);
        ELSE
            EXECUTE format('CREATE TABLE %I PARTITION OF receipt_compact FOR VALUES FROM (%L) TO (%L)',
                'receipt_compact_' || to_char(monday + (n - 1) * interval '1 week', 'YYYYMMDD'), first, next);
        END IF;
        first := next;
    END LOOP;
END $$;

-- Copies the owner and the privileges of the table receipt.
DO $$
DECLARE
    made    text;
    granted record;
BEGIN
    FOR made IN
        SELECT unnest(ARRAY['receipt_format', 'receipt_name', 'receipt_word'])
        UNION ALL SELECT relid::text FROM pg_partition_tree('receipt_compact')
    LOOP
        EXECUTE format('ALTER TABLE %I OWNER TO %s', made, (SELECT relowner::regrole FROM pg_class WHERE oid = 'receipt'::regclass));
        FOR granted IN
            SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role
            FROM pg_class, aclexplode(relacl) WHERE oid = 'receipt'::regclass
        LOOP
            EXECUTE format('GRANT %s ON %I TO %s', granted.privilege_type, made, granted.role);
        END LOOP;
    END LOOP;
END $$;
