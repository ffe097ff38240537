-- When the dependencies of a DAG last changed. Runs that started earlier had other dependencies, so a forecast does not compare their
-- ends with its own. Null: no change is known.
ALTER TABLE dag_structure ADD COLUMN changed_at timestamptz;
