-- The seq of the newest row of the task when a later report added the peak of this row. With it, the state of a model at an
-- earlier time can be restored. Null: no later report added the peak, or that report arrived before this migration.
ALTER TABLE observation ADD COLUMN measured_after bigint;
