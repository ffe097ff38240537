DROP TRIGGER savings_unsum_insert ON savings_day;
DROP TRIGGER savings_unsum_update ON savings_day;
DROP FUNCTION savings_unsum();
DROP TABLE savings_summed, savings_month;
