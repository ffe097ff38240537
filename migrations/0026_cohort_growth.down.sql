ALTER TABLE cohort DROP COLUMN used_kills, DROP COLUMN used_runs;
