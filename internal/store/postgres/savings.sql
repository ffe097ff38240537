-- Adds up the savings ledger. Amounts are returned in GB·h (GB = 1e9 bytes: 3.6e18 byte µs) and core hours.
--
-- $1, $2     the scopes: namespaces, and prefixes of dag_id; an empty text covers all
-- $3 to $5   the namespace, DAG and task; all if empty
-- $6, $7     the days, a half-open interval; null does not limit
-- $8         the key: day, dag, task, owner, dag_owner, or empty for one sum
-- $9         whether there is one sum per key and calendar month; the day of such a sum is the first of its month
--
-- The owner of a task is the owner in its newest set of metadata that names an owner; the column owner of the ledger
-- is always null. In the ledger an unknown amount of a try counts as zero.
--
-- A year of a thousand tasks has 365,000 rows of days. Therefore sums over several days read the stored months in
-- [months_from, months_to), and the days before and after them; see migration 0020. OFFSET 0 makes the
-- planner scan an index for each task.
WITH owners AS (
	SELECT DISTINCT ON (task) task, entries->'owner'->>0 AS owner
	FROM metadata_set
	WHERE $8 IN ('owner', 'dag_owner') AND entries->'owner' IS NOT NULL
	ORDER BY task, id DESC),
selected AS MATERIALIZED (
	SELECT task.id, task.namespace, task.dag_id, task.task_id, owners.owner AS current_owner,
		b.memory::numeric AS request, b.cpu::numeric AS cpu_request,
		CASE WHEN first_month < end_of_months THEN first_month ELSE '-infinity' END AS months_from,
		CASE WHEN first_month < end_of_months THEN end_of_months ELSE '-infinity' END AS months_to
	FROM task
	LEFT JOIN savings_summed AS s ON s.task = task.id
	CROSS JOIN LATERAL (
		SELECT coalesce(date_trunc('month', $6::date + interval '1 month -1 day')::date, '-infinity') AS first_month,
			CASE WHEN $7::date < s.until THEN date_trunc('month', $7::date::timestamp)::date ELSE coalesce(s.until, '-infinity') END AS end_of_months) AS months
	LEFT JOIN baseline AS b USING (namespace, dag_id, task_id)
	LEFT JOIN owners ON owners.task = task.id
	WHERE EXISTS (
			SELECT FROM unnest($1::text[], $2::text[]) AS scope (namespace, prefix)
			WHERE (scope.namespace = '' OR scope.namespace = task.namespace) AND starts_with(task.dag_id, scope.prefix))
		AND ($3 = '' OR task.namespace = $3) AND ($4 = '' OR task.dag_id = $4) AND ($5 = '' OR task.task_id = $5)),
ledger AS ( -- has the columns of `selected`, because a later join with `selected` would compare all rows
	SELECT selected.*, m.*
	FROM selected
	CROSS JOIN LATERAL (
		SELECT * FROM savings_month WHERE task = selected.id AND day >= months_from AND day < months_to OFFSET 0) AS m
	WHERE $8 <> 'day'
	UNION ALL
	SELECT selected.*, d.*, d.day, d.day
	FROM selected
	CROSS JOIN LATERAL (
		(SELECT * FROM savings_day
		WHERE task = selected.id AND day >= months_to AND ($6::date IS NULL OR day >= $6) AND ($7::date IS NULL OR day < $7))
		UNION ALL
		(SELECT * FROM savings_day
		WHERE task = selected.id AND day >= $6::date AND day < months_from AND ($7::date IS NULL OR day < $7)) OFFSET 0) AS d
	WHERE $8 <> 'day'
	UNION ALL
	SELECT selected.*, d.*, d.day, d.day
	FROM selected JOIN savings_day AS d ON d.task = selected.id
	WHERE $8 = 'day' AND ($6::date IS NULL OR d.day >= $6) AND ($7::date IS NULL OR d.day < $7)),
sums AS (
	SELECT
		CASE WHEN $8 = 'day' THEN day WHEN $9 THEN date_trunc('month', day::timestamp)::date END AS by_day,
		CASE WHEN $8 IN ('dag', 'task', 'dag_owner') THEN namespace ELSE '' END AS by_namespace,
		CASE WHEN $8 IN ('dag', 'task', 'dag_owner') THEN dag_id ELSE '' END AS by_dag,
		CASE WHEN $8 = 'task' THEN task_id ELSE '' END AS by_task,
		CASE WHEN $8 IN ('owner', 'dag_owner') THEN coalesce(current_owner, '') ELSE '' END AS by_owner,
		min(first_day) AS first_day, max(last_day) AS last_day,
		sum(tries)::bigint AS tries, sum(successes)::bigint AS successes, sum(kills)::bigint AS kills,
		sum(unaccounted)::bigint AS unaccounted, sum(unmeasured)::bigint AS unmeasured,
		sum(success_us) AS success_us, sum(granted) AS granted, sum(killed) AS killed, sum(used) AS used, sum(used_us) AS used_us, sum(unused) AS unused,
		-- Null if no row with an accounted try belongs to a task with a request. A success or a kill is accounted if its duration and its allocation (or else its request) are known.
		sum(success_us * request) FILTER (WHERE successes + kills > unaccounted) AS requested,
		coalesce(sum(granted + killed) FILTER (WHERE request IS NULL), 0) AS no_request,
		sum(cpu_us * cpu_request - cpu_granted - cpu_killed) FILTER (WHERE cpu_tries > 0) AS saved_cpu
	FROM ledger AS d
	WHERE d.tries > 0
	GROUP BY 1, 2, 3, 4, 5)
SELECT by_day, by_namespace, by_dag, by_task, by_owner, first_day, last_day, tries, successes, kills, unaccounted, unmeasured,
	CASE WHEN granted_known THEN (success_us / 3.6e9)::float8 END,
	CASE WHEN granted_known THEN (requested / 3.6e18)::float8 END,
	CASE WHEN granted_known THEN (granted / 3.6e18)::float8 END,
	CASE WHEN measured THEN (used / 3.6e18)::float8 END,
	CASE WHEN measured THEN (used_us / 3.6e9)::float8 END,
	CASE WHEN killed_known THEN (killed / 3.6e18)::float8 END,
	CASE WHEN accounted THEN ((unused + killed) / 3.6e18)::float8 END,
	((requested - (granted + killed - no_request)) / 3.6e18)::float8,
	(no_request / 3.6e18)::float8,
	(saved_cpu / 3.6e9)::float8
FROM sums,
	LATERAL (SELECT successes + kills > unaccounted AS accounted, successes > unmeasured AS measured) AS known,
	-- The ledger counts unaccounted successes and kills together: if granted is 0, no success is accounted; if killed is 0, no kill is.
	LATERAL (SELECT accounted AND (successes = 0 OR granted > 0) AS granted_known, accounted AND (kills = 0 OR killed > 0) AS killed_known) AS amounts
ORDER BY by_day, by_namespace, by_dag, by_task, by_owner
