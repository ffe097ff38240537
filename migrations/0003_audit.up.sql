-- Who changed what, and the promises that a model is held to.

-- Rows name tasks by text: they outlive a rename and a deletion.
CREATE TABLE audit (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the order of writing
    at        timestamptz NOT NULL DEFAULT now(),
    who       text NOT NULL,                  -- name of a token, anonymous, trainer or watchdog
    action    text NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    dag_id    text COLLATE "C" NOT NULL,
    task_id   text COLLATE "C" NOT NULL,
    before    json,
    after     json,
    reason    text,
    routine   boolean NOT NULL DEFAULT false  -- a training's publication: only the newest are kept
);
CREATE INDEX audit_task ON audit (namespace, dag_id, task_id, id);

ALTER TABLE task
    ADD COLUMN pinned_version integer,     -- holds while it is the active one
    ADD COLUMN pinned_by      text,
    ADD COLUMN watched_from   timestamptz, -- answers given before are no evidence against the active model
    ADD COLUMN withdrawn      integer[];   -- versions that the watchdog never goes back to

ALTER TABLE receipt
    ADD COLUMN model_version integer,      -- that answered; null: none, or written before this step
    ADD COLUMN told          bigint;       -- tries that it had been told of by then
