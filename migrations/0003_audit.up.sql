-- The audit trail, pins of model versions, and columns for the watchdog, which compares promised risks with outcomes.

-- Rows refer to tasks by text, so that they survive a rename and a deletion.
CREATE TABLE audit (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in order of writing
    at        timestamptz NOT NULL DEFAULT now(),
    who       text NOT NULL,                  -- name of a token or user, local (no tokens configured), anonymous, trainer or watchdog
    action    text NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    dag_id    text COLLATE "C" NOT NULL,
    task_id   text COLLATE "C" NOT NULL,
    before    json,
    after     json,
    reason    text,
    routine   boolean NOT NULL DEFAULT false  -- the activation of a model by its training; only the newest 100 per task are kept
);
CREATE INDEX audit_task ON audit (namespace, dag_id, task_id, id);

ALTER TABLE task
    ADD COLUMN pinned_version integer,     -- pinned while it equals active_version
    ADD COLUMN pinned_by      text,
    ADD COLUMN watched_from   timestamptz, -- the watchdog ignores earlier receipts
    ADD COLUMN withdrawn      integer[];   -- versions excluded from rollback

ALTER TABLE receipt
    ADD COLUMN model_version integer,      -- the version that answered; null if no model answered, or if the receipt is older than this migration
    ADD COLUMN told          bigint;       -- Guard.Version: the number of tries that the model had learned at the time of the answer
