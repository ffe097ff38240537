-- Leases runs for one branch of the scheduler DAG (docs/campaigns.md).
-- Runs whose lease expired or was released take precedence over runs in state $2. Among the runs in state $2, those that a
-- trigger of DAG runs gave back take precedence, because the budget counts their attempt already.
--
-- $1  the campaign
-- $2  the state of the runs that the branch claims
-- $3  the state after the claim; equal to $2 for a check
-- $4  the state after a trigger has started the step of a run; such a run is active, like one in state $3
-- $5  the largest number of claimed runs; for a trigger, the active runs count, too
-- $6  the largest number of claimed runs that were in state $2, without those that were given back; -1 for any number
-- $7  the lease
-- $8  whether the branch starts DAG runs
-- $9  whether runs that were given back are claimed
WITH trigger_runs AS (
	-- the number of active runs of a trigger; 0 for a check
	SELECT count(*) AS active FROM campaign_run WHERE campaign = $1 AND $2::smallint <> $3::smallint AND state IN ($3::smallint, $4::smallint)),
expired AS (
	-- runs in the state after the claim that no worker leases now
	SELECT n FROM campaign_run
	WHERE campaign = $1 AND state = $3::smallint AND (leased_until IS NULL OR leased_until < now())
	ORDER BY changed_at, n LIMIT $5::bigint
	FOR UPDATE SKIP LOCKED),
given_back AS (
	-- runs whose present attempt a trigger of DAG runs claimed and gave back
	SELECT n FROM campaign_run
	WHERE campaign = $1 AND $8::boolean AND $9::boolean AND state = $2::smallint AND started = attempt
	ORDER BY n
	LIMIT greatest(0, $5::bigint - (SELECT active FROM trigger_runs))
	FOR UPDATE SKIP LOCKED),
waiting AS (
	-- the other runs in the state before the claim; none for a check
	SELECT n FROM campaign_run
	WHERE campaign = $1 AND $2::smallint <> $3::smallint AND state = $2::smallint AND NOT ($8::boolean AND started = attempt)
	ORDER BY n
	LIMIT greatest(0, least($5::bigint - (SELECT active FROM trigger_runs) - (SELECT count(*) FROM given_back), CASE WHEN $6::bigint < 0 THEN $5::bigint ELSE $6::bigint END))
	FOR UPDATE SKIP LOCKED),
picked AS (SELECT n FROM expired UNION SELECT n FROM given_back UNION SELECT n FROM waiting)
UPDATE campaign_run AS r
SET state = $3::smallint, leased_until = now() + $7::interval,
	started = CASE WHEN $8::boolean THEN attempt ELSE started END,
	changed_at = CASE WHEN state = $3::smallint THEN changed_at ELSE now() END
FROM picked
WHERE r.campaign = $1 AND r.n = picked.n
RETURNING r.n, scenario, execution_date, conf, state, attempt, dag_run_id, leased_until, coalesce(notes, ''), changed_at
