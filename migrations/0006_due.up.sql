-- What is due and what is leased is found without reading all tasks. Reports of a task
-- that is due already leave due_at as it is, and are still written in place.

CREATE INDEX tally_due ON tally (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX lease_until ON lease (until) WHERE until IS NOT NULL;
