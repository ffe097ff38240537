-- Metadata, usage and placement of a try, in their own tables, so that the rows that a training reads stay narrow. The
-- foreign keys delete the rows with their report or task, even if an older version of the service deletes it.

-- The different sets of metadata of a task. The service stores at most 64 sets per task, so that values that differ in every
-- run take bounded space.
CREATE TABLE metadata_set (
    task    bigint NOT NULL REFERENCES task ON DELETE CASCADE,
    id      smallint NOT NULL, -- 1, 2, …
    digest  bytea NOT NULL,    -- first 16 bytes of the SHA-256 of entries as JSON
    entries jsonb NOT NULL,    -- name → list of values
    PRIMARY KEY (task, id),
    UNIQUE (task, digest)
);

CREATE TABLE observation_context (
    task                 bigint NOT NULL,
    seq                  bigint NOT NULL,
    metadata             smallint, -- id of a set in metadata_set, which may have been deleted since; null if unknown
    memory_mean_bytes    float8,
    cpu_mean_cores       float8,
    read_bytes           float8,
    written_bytes        float8,
    gpu_memory_max_bytes float8,
    gpu_utilisation_mean float8,
    node_type            text,
    cluster_load         float8,   -- 0 to 1
    PRIMARY KEY (task, seq),
    FOREIGN KEY (task, seq) REFERENCES observation ON DELETE CASCADE
);

-- Copies the owner and the privileges of the table task.
DO $$
DECLARE
    granted record;
    created text;
BEGIN
    FOREACH created IN ARRAY ARRAY['metadata_set', 'observation_context'] LOOP
        EXECUTE format('ALTER TABLE %I OWNER TO %s', created, (SELECT relowner::regrole FROM pg_class WHERE oid = 'task'::regclass));
        FOR granted IN
            SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role
            FROM pg_class, aclexplode(relacl) WHERE oid = 'task'::regclass
        LOOP
            EXECUTE format('GRANT %s ON %I TO %s', granted.privilege_type, created, granted.role);
        END LOOP;
    END LOOP;
END $$;
