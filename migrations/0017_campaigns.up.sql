-- Profiling campaigns: archived runs that Airflow reproduces. Package campaign defines the states and
-- the transitions between them.

CREATE TABLE campaign (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace    text COLLATE "C" NOT NULL,
    dag_id       text COLLATE "C" NOT NULL,
    name         text COLLATE "C" NOT NULL,
    pool         text,                 -- Airflow pool of the reproduced tasks; null for the pool of the DAG
    conf         json,                 -- overrides the archived conf, to run in a sandbox
    version      text,                 -- of the DAG; null for any
    budget_runs  integer,
    budget_gbh   float8,
    budget_until timestamptz,
    paused       boolean NOT NULL DEFAULT false,
    stopped      text,                 -- why the budget stopped the campaign; null if it did not
    created_at   timestamptz NOT NULL DEFAULT now(),
    created_by   text NOT NULL,
    -- A campaign needs a pool of its own, or a conf that makes its runs use a sandbox. A pool does not change where runs write.
    CHECK (pool IS NOT NULL OR conf IS NOT NULL),
    UNIQUE (namespace, dag_id, name)
);

CREATE TABLE campaign_run (
    campaign       bigint NOT NULL REFERENCES campaign ON DELETE CASCADE,
    n              integer NOT NULL, -- number of the run, from 1
    scenario       text NOT NULL, -- name of the archived run
    scenario_hash  text COLLATE "C" NOT NULL, -- SHA-256 of the scenario and the conf
    execution_date timestamptz NOT NULL,
    conf           json,
    state          smallint NOT NULL DEFAULT 0
                   CHECK (state IN (0, 10, 11, 15, 17, 30, 31, 35, 37, 50, 51, 55, 57)),
    attempt        integer NOT NULL DEFAULT 1,
    started        integer NOT NULL DEFAULT 0, -- the newest attempt that a trigger of DAG runs has claimed; 0 if none
    dag_run_id     text COLLATE "C" NOT NULL UNIQUE, -- of the attempt
    leased_until   timestamptz,
    notes          text,
    changed_at     timestamptz NOT NULL DEFAULT now(), -- of the state
    PRIMARY KEY (campaign, n),
    UNIQUE (campaign, scenario_hash, execution_date)
);
CREATE INDEX campaign_run_state ON campaign_run (campaign, state, n);

-- Copies the owner and the privileges of the table task to the new tables, and to those of migration 13,
-- which did not copy them.
DO $$
DECLARE
    granted record;
    created text;
BEGIN
    FOREACH created IN ARRAY ARRAY['campaign', 'campaign_run', 'savings_day', 'baseline', 'baseline_change'] LOOP
        EXECUTE format('ALTER TABLE %I OWNER TO %s', created, (SELECT relowner::regrole FROM pg_class WHERE oid = 'task'::regclass));
        FOR granted IN
            SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS role
            FROM pg_class, aclexplode(relacl) WHERE oid = 'task'::regclass
        LOOP
            EXECUTE format('GRANT %s ON %I TO %s', granted.privilege_type, created, granted.role);
        END LOOP;
    END LOOP;
END $$;

-- Excludes reproduced runs from the savings ledger and the baselines. This step changes the functions in place,
-- so that it does not depend on the step that defined them last.
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
            changed := regexp_replace(changed, 'FROM ' || rows || '(\s+WHERE)', 'FROM ' || own || ' AS own\1', 'g');
            changed := regexp_replace(changed, 'FROM ' || rows || ' AS r\M', 'FROM ' || own || ' AS r', 'g');
        END LOOP;
        IF changed = pg_get_functiondef(name::regproc) THEN
            RAISE EXCEPTION 'function % does not read the changed rows as expected', name;
        END IF;
        EXECUTE changed;
    END LOOP;
END $do$;
