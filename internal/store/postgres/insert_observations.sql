-- Inserts the first report of each try and counts it, in one statement and thus in one transaction.
--
-- $1 to $21  one array per column, one entry per report; see columnsOf
-- $22        the features of all reports, flattened; $18 and $19 delimit the slice of a report
-- $23        the debounce: how long after an insert its task becomes due for training
-- $24        the outcomes that are OOM kills, which make a task due at once
-- $25        the ids of the reports' tasks
-- $26 to $28 the names of these tasks; nothing is inserted unless every task still has its name
-- $29        the prefix of the run ids of reproduced runs, whose kills neither count nor make a task due at once
--
-- It returns one row per report: the index of the report, the seq of the inserted row (0: no row was
-- inserted), and whether all tasks still have their names.
WITH locked AS (
	SELECT task.id, task.namespace, task.dag_id, task.task_id
	FROM task JOIN tally ON tally.task = task.id
	WHERE task.id = ANY($25::bigint[])
	ORDER BY task.id -- the same order for all writers prevents deadlocks
	FOR KEY SHARE OF task FOR NO KEY UPDATE OF tally),
current AS (
	SELECT count(*) = cardinality($25::bigint[]) AS are_unchanged
	FROM locked
	JOIN unnest($25::bigint[], $26::text[], $27::text[], $28::text[]) AS expected (id, namespace, dag_id, task_id)
		USING (id, namespace, dag_id, task_id)),
new AS (
	SELECT task, run_id, map_index, try_number, outcome, provisional,
		started_at, ended_at, duration_us, memory_max, allocated_memory, requested_memory, memory_sampled,
		cpu_max, allocated_cpu, requested_cpu, prediction_id, features_after, features_to, lot, run_score, n
	FROM unnest($1::bigint[], $2::text[], $3::int[], $4::smallint[], $5::smallint[], $6::boolean[],
		$7::timestamptz[], $8::timestamptz[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
		$14::float8[], $15::float8[], $16::float8[], $17::text[], $18::int[], $19::int[], $20::int[], $21::float8[])
	WITH ORDINALITY AS new (task, run_id, map_index, try_number, outcome, provisional,
		started_at, ended_at, duration_us, memory_max, allocated_memory, requested_memory, memory_sampled,
		cpu_max, allocated_cpu, requested_cpu, prediction_id, features_after, features_to, lot, run_score, n)),
inserted AS (
	INSERT INTO observation (task, run_id, map_index, try_number, outcome, provisional,
		at, started_at, ended_at, duration_us,
		memory_max, allocated_memory, requested_memory, memory_sampled, sampled_only,
		cpu_max, allocated_cpu, requested_cpu,
		prediction_id, features, lot, run_score)
	SELECT task, run_id, map_index, try_number, outcome, provisional,
		-- an implausible time is replaced by the time of arrival; plausibleTime in write.go has the same range
		CASE WHEN coalesce(ended_at, started_at) BETWEEN timestamptz '2000-01-01 00:00:00+00' AND now() + interval '6 hours'
			THEN coalesce(ended_at, started_at) ELSE now() END,
		started_at, ended_at, nullif(duration_us, 0),
		-- without a measured peak, memory_max is the sampled peak and sampled_only is true
		coalesce(nullif(memory_max, 0), nullif(memory_sampled, 0)), nullif(allocated_memory, 0), nullif(requested_memory, 0),
		nullif(memory_sampled, 0), memory_max = 0 AND memory_sampled > 0,
		nullif(cpu_max, 0), nullif(allocated_cpu, 0), nullif(requested_cpu, 0),
		nullif(prediction_id, ''), ($22::float8[])[features_after + 1:features_to], lot, nullif(run_score, 0)
	FROM new
	WHERE (SELECT are_unchanged FROM current)
		-- do not insert a repeated report of an earlier execution whose try the newest execution does not have; see executions.go
		AND (try_number = 1 OR started_at IS NULL OR NOT EXISTS (
			SELECT FROM observation AS earlier
			WHERE earlier.task = new.task AND earlier.run_id > new.run_id || ' (execution ' AND earlier.run_id < new.run_id || ' (execution :'
				AND earlier.map_index = new.map_index AND earlier.try_number = new.try_number AND earlier.started_at = new.started_at))
	ORDER BY n
	ON CONFLICT (task, run_id, map_index, try_number) DO NOTHING
	RETURNING seq, task, run_id, map_index, try_number, outcome),
counted AS (
	UPDATE tally
	SET observations = tally.observations + added.observations,
		kills = tally.kills + added.kills,
		due_at = least(tally.due_at, now() + CASE WHEN added.kills > 0 THEN interval '0' ELSE $23::interval END)
	FROM (
		SELECT task, count(*) AS observations, count(*) FILTER (WHERE outcome = ANY ($24::smallint[]) AND NOT starts_with(run_id, $29)) AS kills
		FROM inserted GROUP BY task) AS added
	WHERE tally.task = added.task)
SELECT n - 1, coalesce(seq, 0), are_unchanged
FROM new LEFT JOIN inserted USING (task, run_id, map_index, try_number), current
ORDER BY n
