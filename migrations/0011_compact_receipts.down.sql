-- SQL cannot read the compact form. `loadaware migrate down` converts the receipts before it applies this
-- step. A replica that still runs may store new receipts between the conversion and this step.
DO $$
BEGIN
    LOCK TABLE receipt_compact IN ACCESS EXCLUSIVE MODE;
    IF EXISTS (SELECT FROM receipt_compact) THEN
        RAISE EXCEPTION 'receipt_compact is not empty: "loadaware migrate down" converts its receipts before this step, but a replica stored new ones meanwhile, or another tool runs this step; stop all replicas, then run "loadaware migrate down" again';
    END IF;
END $$;
DROP TABLE receipt_compact, receipt_word, receipt_name, receipt_format;
