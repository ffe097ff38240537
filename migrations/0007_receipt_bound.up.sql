-- Receipts are to stand in partitions, a week each, by their ids, which begin with their
-- time. What is there becomes the first partition, whole: all below a Monday that is four
-- to five weeks ahead. This step demands it of new rows, the next sees that it holds of all.
DO $$
DECLARE
    monday timestamp := date_trunc('week', now() AT TIME ZONE 'UTC') + interval '5 weeks';
    ms     bigint := extract(epoch FROM monday) * 1000;
    bound  text COLLATE "C" := lpad(to_hex(ms >> 16), 8, '0') || '-' || lpad(to_hex(ms & 65535), 4, '0');
BEGIN
    LOCK TABLE receipt IN ACCESS EXCLUSIVE MODE; -- so that none comes that is above what exists
    SELECT greatest(bound, max(prediction_id) || '0') INTO bound FROM receipt;
    EXECUTE format('ALTER TABLE receipt ADD CONSTRAINT receipt_bound CHECK (prediction_id < %L) NOT VALID', bound);
END $$;
