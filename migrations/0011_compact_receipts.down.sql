-- SQL cannot read the compact form. `loadaware migrate down` converts the receipts before it applies this
-- step.
DO $$
BEGIN
    LOCK TABLE receipt_compact IN ACCESS EXCLUSIVE MODE;
    IF EXISTS (SELECT FROM receipt_compact) THEN
        RAISE EXCEPTION 'receipt_compact has receipts, which loadaware migrate down converts: stop all replicas, then repeat it';
    END IF;
END $$;
DROP TABLE receipt_compact, receipt_word, receipt_name, receipt_format;
