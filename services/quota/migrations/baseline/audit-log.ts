export const AUDIT_LOG = `
  -- The service's role may read and insert rows. It may delete rows only by calling delete_expired_audit_log_entries.
  CREATE TABLE quota.audit_log (
    workspace_id   text NOT NULL,
    entry_id       bigint GENERATED ALWAYS AS IDENTITY,
    changed_at     timestamptz NOT NULL DEFAULT now(),
    -- The sub claim of the member's access token, NULL for the operator.
    member         text,
    method         text NOT NULL,
    -- Names and ids.
    target         jsonb NOT NULL,
    changed_fields text[] NOT NULL,
    PRIMARY KEY (workspace_id, entry_id)
  );
  CREATE INDEX audit_log_by_time ON quota.audit_log (changed_at);

  CREATE FUNCTION quota.delete_expired_audit_log_entries() RETURNS void
  LANGUAGE sql SECURITY DEFINER SET search_path = '' AS
  'DELETE FROM quota.audit_log WHERE changed_at < now() - interval ''400 days''';
`;
