DROP TABLE detailed_series, executed_plan, task_plan, plan_pool;
