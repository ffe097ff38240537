ALTER TABLE receipt DROP CONSTRAINT receipt_bound;
