DROP TRIGGER task_gone ON task;
DROP TRIGGER task_changed ON task;
DROP FUNCTION mark_task_gone, mark_task_changed;
DROP TABLE task_gone;
ALTER TABLE task DROP COLUMN changed;
