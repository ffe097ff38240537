DROP TABLE duty;
DROP TABLE inquiry;
DROP INDEX receipt_time;
DROP INDEX observation_time;
-- What was merely sampled is not kept as if it had been measured.
UPDATE observation SET memory_max = NULL WHERE sampled_only;
DROP INDEX observation_both;
ALTER TABLE observation
    DROP COLUMN memory_sampled,
    DROP COLUMN sampled_only;
