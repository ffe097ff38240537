-- When the dependencies of a DAG last changed; null: no change is known. Runs that started earlier had other dependencies,
-- so a forecast is not calibrated with them.
ALTER TABLE dag_structure ADD COLUMN changed_at timestamptz;
