-- Reads the profiles of the tasks in `page`, a common table expression that precedes this text.
-- Quantiles are exact up to 4,000 observations; with more observations they are quantiles of a uniform sample of
-- 4,000 observations. The smallest and the largest peak are exact. Peaks and durations are those of successes
-- (outcome 1) only.
SELECT page.namespace, page.dag_id, page.task_id, page.schema, page.policy,
	tally.observations, tally.kills, newest.at,
	coalesce(requested.memory, 0), coalesce(requested.cpu, 0),
	coalesce(quantiles.memory, '{0,0,0}'), coalesce(quantiles.seconds, '{0,0,0,0,0}'),
	coalesce(lowest.peak, 0), coalesce(highest.peak, 0),
	coalesce(model.version, 0), coalesce(model.family, ''), coalesce(model.observations, 0), model.trained_at, model.exam
FROM page
JOIN tally ON tally.task = page.id
LEFT JOIN model ON model.task = page.id AND model.version = page.active_version
LEFT JOIN LATERAL (
	SELECT at FROM observation WHERE task = page.id ORDER BY at DESC, seq DESC LIMIT 1) AS newest ON true
LEFT JOIN LATERAL ( -- the last request among the newest 1,000 reports
	SELECT memory, cpu
	FROM (
		SELECT at, seq, requested_memory AS memory, requested_cpu AS cpu
		FROM observation WHERE task = page.id ORDER BY at DESC, seq DESC LIMIT 1000) AS recent
	WHERE memory IS NOT NULL OR cpu IS NOT NULL
	ORDER BY at DESC, seq DESC LIMIT 1) AS requested ON true
LEFT JOIN LATERAL (
	SELECT peak FROM observation
	WHERE task = page.id AND peak IS NOT NULL AND outcome = 1 ORDER BY peak, seq LIMIT 1) AS lowest ON true
LEFT JOIN LATERAL (
	SELECT peak FROM observation
	WHERE task = page.id AND peak IS NOT NULL AND outcome = 1 ORDER BY peak DESC, seq DESC LIMIT 1) AS highest ON true
CROSS JOIN LATERAL (
	SELECT percentile_cont(ARRAY[.5, .9, .99]) WITHIN GROUP (ORDER BY memory_max) AS memory,
		percentile_cont(ARRAY[0, .5, .9, .99, 1]) WITHIN GROUP (ORDER BY duration_us / 1e6) AS seconds
	FROM (SELECT outcome, memory_max, duration_us FROM observation WHERE task = page.id ORDER BY lot LIMIT 4000) AS sample
	WHERE outcome = 1) AS quantiles
ORDER BY page.namespace, page.dag_id, page.task_id
