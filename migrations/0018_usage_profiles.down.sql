DROP TABLE usage_profiles;
