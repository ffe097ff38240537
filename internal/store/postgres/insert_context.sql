-- Stores the context (metadata, usage, placement) of tries without a stored context, and the newest $14
-- different sets of metadata per task.
--
-- $1 to $13  one array per column, one entry per report; see contextColumns
-- $14        the largest number of sets of a task
--
-- A new set beyond this number replaces the oldest one. Therefore a task whose metadata once differed in every
-- run can still store a new owner. The ids of sets ascend and are not used again: a row whose set was deleted
-- keeps its id, and finds no set instead of another one. After the largest smallint no further set is stored.
--
-- The caller holds the locks of the tasks in tally, so that no other writer adds sets at the same time.
-- The statement returns the task and seq of each new row, whether the column metadata of the row is null, and whether the
-- row has a new set that replaced another one.
WITH new AS (
	SELECT *
	FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::text[], $5::float8[], $6::float8[], $7::float8[],
		$8::float8[], $9::float8[], $10::float8[], $11::text[], $12::float8[], $13::int[])
		AS new (task, seq, digest, entries, memory_mean_bytes, cpu_mean_cores, read_bytes,
			written_bytes, gpu_memory_max_bytes, gpu_utilisation_mean, node_type, cluster_load, n)),
wanted AS (
	SELECT DISTINCT ON (task, digest) task, digest, entries, n
	FROM new WHERE digest IS NOT NULL
		AND NOT EXISTS (SELECT FROM metadata_set AS known WHERE known.task = new.task AND known.digest = new.digest)
	ORDER BY task, digest, n),
numbered AS (
	SELECT task, digest, entries, row_number() OVER (PARTITION BY task ORDER BY n)
		+ (SELECT coalesce(max(id), 0) FROM metadata_set AS known WHERE known.task = wanted.task) AS id
	FROM wanted),
newest AS (
	SELECT task, least(max(id), 32767) AS id FROM numbered GROUP BY task),
removed AS (
	DELETE FROM metadata_set AS old USING newest WHERE old.task = newest.task AND old.id <= newest.id - $14),
added AS (
	INSERT INTO metadata_set (task, id, digest, entries)
	SELECT task, numbered.id, digest, entries::jsonb FROM numbered JOIN newest USING (task)
	WHERE numbered.id > newest.id - $14 AND numbered.id <= newest.id
	ON CONFLICT DO NOTHING
	RETURNING task, id, digest)
INSERT INTO observation_context (task, seq, metadata, memory_mean_bytes, cpu_mean_cores, read_bytes,
	written_bytes, gpu_memory_max_bytes, gpu_utilisation_mean, node_type, cluster_load)
SELECT new.task, new.seq, coalesce(known.id, added.id), memory_mean_bytes, cpu_mean_cores, read_bytes,
	written_bytes, gpu_memory_max_bytes, gpu_utilisation_mean, node_type, cluster_load
FROM new
LEFT JOIN metadata_set AS known ON known.task = new.task AND known.digest = new.digest
LEFT JOIN added ON added.task = new.task AND added.digest = new.digest
ORDER BY n
ON CONFLICT (task, seq) DO NOTHING
RETURNING task, seq, metadata IS NULL,
	metadata > $14 AND EXISTS (SELECT FROM added WHERE added.task = observation_context.task AND added.id = metadata)
