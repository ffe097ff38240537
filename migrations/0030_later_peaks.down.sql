ALTER TABLE observation DROP COLUMN measured_after;
