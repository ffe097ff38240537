ALTER TABLE observation DROP COLUMN run_score;
