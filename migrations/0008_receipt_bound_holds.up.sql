-- Validation reads all receipts and does not block other readers and writers. PostgreSQL cancels an
-- autovacuum that blocks it after a second.
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = 0;
ALTER TABLE receipt VALIDATE CONSTRAINT receipt_bound;
