/** Leases of background tasks, and the audit log. */
export const OPERATIONS = `
  -- One row for each background task that only one replica runs at a time, with the task's progress.
  CREATE TABLE conversation.task_leases (
    task         text PRIMARY KEY,
    holder       uuid NOT NULL,
    -- No replica may start a run before.
    due_at       timestamptz NOT NULL,
    progress     jsonb NOT NULL DEFAULT '{}',
    succeeded_at timestamptz
  );

  -- The audit log. The service's role may read and insert rows. It may delete rows only by calling delete_expired_audit_log_entries.
  CREATE TABLE conversation.audit_log (
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
  CREATE INDEX audit_log_by_time ON conversation.audit_log (changed_at);

  CREATE FUNCTION conversation.delete_expired_audit_log_entries() RETURNS void
  LANGUAGE sql SECURITY DEFINER SET search_path = '' AS
  'DELETE FROM conversation.audit_log WHERE changed_at < now() - interval ''400 days''';
`;
