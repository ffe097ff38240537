-- Runs of `loadaware experiment`: what was asked, of which history, and what came
-- of it. They name tasks by text: to rename or delete a task leaves them as they were.

CREATE TABLE experiment (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the order of saving
    name        text COLLATE "C" UNIQUE,   -- null: unnamed; never a number, which would be an id
    created_at  timestamptz NOT NULL,
    fingerprint text COLLATE "C" NOT NULL, -- SHA-256 of the history's rows, hexadecimal
    parameters  json,
    rows        json,
    report      json
);

CREATE TABLE experiment_model (
    experiment bigint NOT NULL REFERENCES experiment ON DELETE CASCADE,
    position   integer NOT NULL, -- 1, 2, …: as they were given
    task       text COLLATE "C" NOT NULL,
    family     text COLLATE "C" NOT NULL,
    checksum   bytea NOT NULL,   -- SHA-256 of blob
    blob       bytea NOT NULL,
    PRIMARY KEY (experiment, position)
);
