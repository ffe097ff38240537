-- The first of three steps that partition receipts by week. The partition key is the id, which starts with the time. The
-- existing table becomes the first partition, up to a Monday four to five weeks ahead, or up to its largest id if that is
-- later. This step checks the bound for new rows, the next step for existing ones.
DO $$
DECLARE
    monday timestamp := date_trunc('week', now() AT TIME ZONE 'UTC') + interval '5 weeks';
    ms     bigint := extract(epoch FROM monday) * 1000;
    bound  text COLLATE "C" := lpad(to_hex(ms >> 16), 8, '0') || '-' || lpad(to_hex(ms & 65535), 4, '0');
BEGIN
    LOCK TABLE receipt IN ACCESS EXCLUSIVE MODE; -- so that no concurrent insert exceeds the bound
    SELECT greatest(bound, max(prediction_id) || '0') INTO bound FROM receipt;
    EXECUTE format('ALTER TABLE receipt ADD CONSTRAINT receipt_bound CHECK (prediction_id < %L) NOT VALID', bound);
END $$;
