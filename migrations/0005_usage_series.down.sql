DROP TABLE usage_series;
