/**
 * Defines the CTE `workspaces (id)`: every workspace with rows in the call log, and a last row with null. It reads one index entry per workspace,
 * whereas DISTINCT would read every row.
 */
export const WITH_WORKSPACES_CTE = `
  WITH RECURSIVE workspaces (id) AS (
    (SELECT workspace_id FROM llm.calls ORDER BY workspace_id LIMIT 1)
    UNION ALL
    SELECT (SELECT c.workspace_id FROM llm.calls c WHERE c.workspace_id > w.id ORDER BY c.workspace_id LIMIT 1)
    FROM workspaces w WHERE w.id IS NOT NULL
  )`;
