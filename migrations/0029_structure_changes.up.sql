-- When the dependencies of a DAG last changed. Runs that started before this change had other dependencies, so a forecast is
-- not calibrated with them. Null: no change is known.
ALTER TABLE dag_structure ADD COLUMN changed_at timestamptz;
