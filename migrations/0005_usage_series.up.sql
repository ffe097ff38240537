-- The usage of tries over time, in its own table, so that the rows that training reads stay narrow. The foreign key deletes
-- a series with its report, even if an older version of the service deletes the report.

CREATE TABLE usage_series (
    task    bigint NOT NULL,
    seq     bigint NOT NULL,
    step_us bigint NOT NULL,   -- microseconds
    memory  bigint[] NOT NULL, -- bytes, the maximum of each step
    cpu     float8[],          -- cores of each step; null if unknown
    PRIMARY KEY (task, seq),
    FOREIGN KEY (task, seq) REFERENCES observation ON DELETE CASCADE
);
