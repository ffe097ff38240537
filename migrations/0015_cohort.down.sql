DROP TABLE cohort;
