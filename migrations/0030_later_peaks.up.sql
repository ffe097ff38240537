-- The seq of the newest row of the task when a later report added the peak of this row. It allows to restore the state of a
-- model at an earlier time. Null: no later report added the peak, or that report arrived before this migration.
ALTER TABLE observation ADD COLUMN measured_after bigint;
