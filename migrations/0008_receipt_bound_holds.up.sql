-- The validation reads all receipts, but does not block other readers and writers. If an autovacuum
-- blocks it, PostgreSQL cancels the autovacuum after a second.
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = 0;
ALTER TABLE receipt VALIDATE CONSTRAINT receipt_bound;
