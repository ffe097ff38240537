-- The distributions of the ratio of run time to prediction that the tasks of a namespace share, as package taskmodel
-- encodes them. The trainer learns them again when they are older than ShapesEvery in its configuration.
CREATE TABLE runtime_shapes (
    namespace   text COLLATE "C" PRIMARY KEY,
    version     integer NOT NULL,
    learned_at  timestamptz NOT NULL,
    content     bytea NOT NULL CHECK (octet_length(content) <= 1048576)
);

-- The dependencies between the tasks of a DAG, from the newest PUT /dags/{dag_id}/structure.
CREATE TABLE dag_structure (
    namespace   text COLLATE "C" NOT NULL,
    dag_id      text COLLATE "C" NOT NULL,
    tasks       jsonb NOT NULL,     -- [{"task_id": …, "upstream": [task_id, …]}, …]
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (namespace, dag_id)
);

-- Copies the owner and the privileges of the table task.
DO $$
DECLARE
    granted record;
    created text;
BEGIN
    FOREACH created IN ARRAY ARRAY['runtime_shapes', 'dag_structure'] LOOP
        EXECUTE format('ALTER TABLE %I OWNER TO %s', created, (SELECT relowner::regrole FROM pg_class WHERE oid = 'task'::regclass));
        FOR granted IN
            SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role
            FROM pg_class, aclexplode(relacl) WHERE oid = 'task'::regclass
        LOOP
            EXECUTE format('GRANT %s ON %I TO %s', granted.privilege_type, created, granted.role);
        END LOOP;
    END LOOP;
END $$;
