-- The newest row of the task when a later report added the peak of this row. So the state of a model at an earlier time can be
-- restored. Null: no later report added the peak, or it arrived before this migration.
ALTER TABLE observation ADD COLUMN measured_after bigint;
