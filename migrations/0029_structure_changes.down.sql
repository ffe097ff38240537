ALTER TABLE dag_structure DROP COLUMN changed_at;
