DROP TABLE duty;
DROP TABLE inquiry;
DROP INDEX receipt_time;
DROP INDEX observation_time;
-- A sampled peak must not remain as a measured one.
UPDATE observation SET memory_max = NULL WHERE sampled_only;
DROP INDEX observation_both;
ALTER TABLE observation
    DROP COLUMN memory_sampled,
    DROP COLUMN sampled_only;
