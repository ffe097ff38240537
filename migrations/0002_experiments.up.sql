-- Runs of `loadaware experiment`: parameters, a hash of the history, results and models. An experiment
-- names its tasks as text, so that renaming or deleting a task does not change the experiment.

CREATE TABLE experiment (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in order of saving
    name        text COLLATE "C" UNIQUE,   -- null if unnamed; never an integer, because an integer would be read as an id
    created_at  timestamptz NOT NULL,
    fingerprint text COLLATE "C" NOT NULL, -- SHA-256 of the history rows, hexadecimal
    parameters  json,
    rows        json,
    report      json
);

CREATE TABLE experiment_model (
    experiment bigint NOT NULL REFERENCES experiment ON DELETE CASCADE,
    position   integer NOT NULL, -- 1, 2, …: the order of the models of a run
    task       text COLLATE "C" NOT NULL,
    family     text COLLATE "C" NOT NULL, -- serving, or the family, oversampling and bins of a classifier, such as 'svm none {20;200}'
    checksum   bytea NOT NULL,   -- SHA-256 of blob
    blob       bytea NOT NULL,
    PRIMARY KEY (experiment, position)
);
