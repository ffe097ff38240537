-- What tries used over time, beside their reports, so that what learning reads stays
-- narrow. It moves and goes with the report, also where an older version deletes that.

CREATE TABLE usage_series (
    task    bigint NOT NULL,
    seq     bigint NOT NULL,
    step_us bigint NOT NULL,   -- microseconds
    memory  bigint[] NOT NULL, -- bytes, the most of each step
    cpu     float8[],          -- cores of each step; null: not known
    PRIMARY KEY (task, seq),
    FOREIGN KEY (task, seq) REFERENCES observation ON DELETE CASCADE
);
