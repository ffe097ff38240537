-- Sums of the savings ledger per task and calendar month, so that a list of all tasks reads one row per month of a task
-- instead of one per day. savings_day stays the only source.
--
-- A background job adds up the days before savings_summed.until. A later change of one of these days sets
-- savings_summed.until to the start of its month in the same transaction. Readers add up the months before
-- savings_summed.until and the days from it on, so their sums always equal the sums of the days.

CREATE TABLE savings_month (
    LIKE savings_day, -- day is the first of the month
    first_day date,   -- the first and the last day with a try
    last_day  date,
    FOREIGN KEY (task) REFERENCES task ON DELETE CASCADE,
    UNIQUE NULLS NOT DISTINCT (task, day, owner)
);

CREATE TABLE savings_summed (
    task  bigint PRIMARY KEY REFERENCES task ON DELETE CASCADE,
    until date NOT NULL -- savings_month has the days before it
) WITH (fillfactor = 50);

-- Writers of the ledger hold the lock of the task in tally, and so does the job.
CREATE FUNCTION savings_unsum() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE savings_summed AS s SET until = date_trunc('month', c.day::timestamp)::date
    FROM (SELECT task, min(day) AS day FROM changed GROUP BY task) AS c
    WHERE s.task = c.task AND s.until > c.day;
    RETURN NULL;
END $$;

CREATE TRIGGER savings_unsum_insert AFTER INSERT ON savings_day
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION savings_unsum();
CREATE TRIGGER savings_unsum_update AFTER UPDATE ON savings_day
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION savings_unsum();

-- Copies the owner and the privileges of the table task.
DO $$
DECLARE
    granted record;
    created text;
BEGIN
    FOREACH created IN ARRAY ARRAY['savings_month', 'savings_summed'] LOOP
        EXECUTE format('ALTER TABLE %I OWNER TO %s', created, (SELECT relowner::regrole FROM pg_class WHERE oid = 'task'::regclass));
        FOR granted IN
            SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role
            FROM pg_class, aclexplode(relacl) WHERE oid = 'task'::regclass
        LOOP
            EXECUTE format('GRANT %s ON %I TO %s', granted.privilege_type, created, granted.role);
        END LOOP;
    END LOOP;
END $$;
