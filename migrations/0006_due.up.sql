-- Indexes that find due and leased tasks without a scan of all tasks. Usually a report of a
-- task that is already due does not change due_at, so its update of tally stays in place (HOT).

CREATE INDEX tally_due ON tally (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX lease_until ON lease (until) WHERE until IS NOT NULL;
