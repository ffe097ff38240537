-- The usage profiles of a namespace, as package usageprofile encodes them. Trainer.FindProfiles replaces them.
CREATE TABLE usage_profiles (
    namespace   text COLLATE "C" PRIMARY KEY,
    version     integer NOT NULL,
    format      integer NOT NULL, -- of content
    runs        bigint NOT NULL,  -- number of reports when the profiles were found
    learned_at  timestamptz NOT NULL,
    content     bytea NOT NULL CHECK (octet_length(content) <= 5242880)
);

-- Copies the owner and the privileges of the table task.
DO $$
DECLARE
    granted record;
BEGIN
    EXECUTE format('ALTER TABLE usage_profiles OWNER TO %s', (SELECT relowner::regrole FROM pg_class WHERE oid = 'task'::regclass));
    FOR granted IN
        SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role
        FROM pg_class, aclexplode(relacl) WHERE oid = 'task'::regclass
    LOOP
        EXECUTE format('GRANT %s ON usage_profiles TO %s', granted.privilege_type, granted.role);
    END LOOP;
END $$;
