DROP TABLE observation_context;
DROP TABLE metadata_set;
