DROP INDEX lease_until, tally_due;
