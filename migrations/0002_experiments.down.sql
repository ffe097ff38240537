DROP TABLE experiment_model, experiment;
