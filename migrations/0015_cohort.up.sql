-- The cohort of each namespace: the model that sizes its tasks without history. Every training of the cohort replaces it.

CREATE TABLE cohort (
    namespace  text COLLATE "C" PRIMARY KEY,
    version    integer NOT NULL,
    format     integer NOT NULL, -- of blob
    runs       bigint NOT NULL,  -- number of reports at the training
    kills      bigint NOT NULL,  -- number of OOM kills among the reports
    trained_at timestamptz NOT NULL,
    blob       bytea NOT NULL
);

-- Copies the owner and the privileges of the table task.
DO $$
DECLARE
    granted record;
BEGIN
    EXECUTE format('ALTER TABLE cohort OWNER TO %s', (SELECT relowner::regrole FROM pg_class WHERE oid = 'task'::regclass));
    FOR granted IN
        SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role
        FROM pg_class, aclexplode(relacl) WHERE oid = 'task'::regclass
    LOOP
        EXECUTE format('GRANT %s ON cohort TO %s', granted.privilege_type, granted.role);
    END LOOP;
END $$;
