-- A log of changed tasks. Replicas poll it instead of reading all tasks. Triggers write it, so that it is
-- complete even while replicas of the previous version run.

ALTER TABLE task ADD COLUMN changed xid8; -- the transaction that last set name, active version or policy; null if that was before this migration
CREATE INDEX task_changed ON task (changed) WHERE changed IS NOT NULL;

-- Names that a deletion or a rename freed. Each such change deletes up to ten names that are older than a day.
CREATE TABLE task_gone (
    changed   xid8 NOT NULL,
    at        timestamptz NOT NULL DEFAULT now(),
    namespace text COLLATE "C" NOT NULL,
    dag_id    text COLLATE "C" NOT NULL,
    task_id   text COLLATE "C" NOT NULL
);
CREATE INDEX task_gone_changed ON task_gone (changed);

CREATE FUNCTION mark_task_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.changed := pg_current_xact_id();
    RETURN NEW;
END $$;
CREATE TRIGGER task_changed
    BEFORE INSERT OR UPDATE OF namespace, dag_id, task_id, active_version, policy ON task
    FOR EACH ROW EXECUTE FUNCTION mark_task_changed();

CREATE FUNCTION mark_task_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO task_gone (changed, namespace, dag_id, task_id)
    VALUES (pg_current_xact_id(), OLD.namespace, OLD.dag_id, OLD.task_id);
    DELETE FROM task_gone WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM task_gone WHERE at < now() - interval '1 day' LIMIT 10 FOR UPDATE SKIP LOCKED));
    RETURN NULL;
END $$;
CREATE TRIGGER task_gone
    AFTER DELETE OR UPDATE OF namespace, dag_id, task_id ON task
    FOR EACH ROW EXECUTE FUNCTION mark_task_gone();

-- Copies the owner and the privileges of the table task.
DO $$
DECLARE
    granted record;
BEGIN
    EXECUTE format('ALTER TABLE task_gone OWNER TO %s', (SELECT relowner::regrole FROM pg_class WHERE oid = 'task'::regclass));
    FOR granted IN
        SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role
        FROM pg_class, aclexplode(relacl) WHERE oid = 'task'::regclass
    LOOP
        EXECUTE format('GRANT %s ON task_gone TO %s', granted.privilege_type, granted.role);
    END LOOP;
END $$;
