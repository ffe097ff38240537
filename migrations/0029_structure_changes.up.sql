-- When the tasks of a DAG or their dependencies last changed; null: no change is known. Runs that started earlier had other
-- tasks or dependencies, so a forecast is not calibrated with them.
ALTER TABLE dag_structure ADD COLUMN changed_at timestamptz;
