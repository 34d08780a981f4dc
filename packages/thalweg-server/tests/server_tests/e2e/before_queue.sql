-- The tables of runs at version 0009, before runs were jobs of a queue.
CREATE TABLE runs (
    number {counter},
    owner text {by_bytes} NOT NULL,
    thread text {by_bytes} NOT NULL,
    run text {by_bytes} NOT NULL,
    status text NOT NULL DEFAULT 'queued',
    request text NOT NULL,
    work text NOT NULL DEFAULT '',
    created timestamptz NOT NULL DEFAULT {now},
    started timestamptz,
    ended timestamptz,
    error text,
    attempt integer NOT NULL DEFAULT 0,
    handed integer NOT NULL DEFAULT 0,
    last_seq bigint NOT NULL DEFAULT 0,
    cancel_asked boolean NOT NULL DEFAULT false,
    {main_key} (owner, run)
);
CREATE UNIQUE INDEX one_active_run ON runs (owner, thread) WHERE status IN ('queued', 'running');
CREATE INDEX runs_of_thread ON runs (owner, thread, number);
CREATE TABLE run_events (
    owner text {by_bytes} NOT NULL,
    thread text {by_bytes} NOT NULL,
    run text {by_bytes} NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (owner, thread, run, seq)
){clustered};
CREATE INDEX active_runs ON runs (work) WHERE status IN ('queued', 'running');
ALTER TABLE runs ADD COLUMN due bigint NOT NULL DEFAULT 0;
CREATE INDEX waiting_runs ON runs (owner, thread, number) WHERE status = 'waiting';
-- PostgreSQL
ALTER TABLE runs SET (fillfactor = 70);
CREATE INDEX runs_of_owner ON runs (owner, number);
ALTER TABLE runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE runs FORCE ROW LEVEL SECURITY;
CREATE POLICY of_owner ON runs USING (
    owner = ANY (string_to_array((SELECT current_setting('thalweg.owner', true)), chr(31)))
);
CREATE POLICY across ON runs TO CURRENT_USER
    USING (current_setting('thalweg.across', true) = 'yes');
CREATE FUNCTION run_workers() RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM set_config('thalweg.across', 'yes', true);
    RETURN QUERY SELECT DISTINCT work FROM runs WHERE status IN ('queued', 'running');
    PERFORM set_config('thalweg.across', '', true);
END $$;
CREATE TABLE thalweg_version (version_num varchar(32));
INSERT INTO thalweg_version VALUES ('0009');
