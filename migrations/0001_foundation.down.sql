DROP TABLE model, receipt, observation, lease, tally, task;
