/** Proves the counters of usage: used = rows of the ledger + turns of the totals + sum of the adjustments. */
export const USAGE_LEDGER = `
  -- One row per counted turn, never updated. The service's role may only add and read rows. It can delete them only through prune_ledger.
  CREATE TABLE quota.ledger (
    workspace_id text NOT NULL,
    month        date NOT NULL,
    turn_id      uuid NOT NULL,
    counted_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, month, turn_id)
  );

  -- For each closed month of a workspace, the number of rows that were pruned from the ledger, and the XOR of the first 64 bits of the MD5 of
  -- each pruned turn's id.
  CREATE TABLE quota.ledger_totals (
    workspace_id text NOT NULL,
    month        date NOT NULL,
    turns        integer NOT NULL,
    digest       bigint NOT NULL,
    PRIMARY KEY (workspace_id, month)
  );

  -- One row for each correction, never updated. It corrects the outcome of a settled turn, whose row of the ledger stays, or an operator adjusts
  -- the month's usage. An operator's adjustment has no turn, and its id is the caller's request id.
  CREATE TABLE quota.adjustments (
    workspace_id  text NOT NULL,
    adjustment_id uuid NOT NULL DEFAULT gen_random_uuid(),
    month         date NOT NULL,
    turn_id       uuid,
    amount        integer NOT NULL,
    reason        text NOT NULL,
    operator      text,
    adjusted_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, adjustment_id),
    CONSTRAINT adjustments_entry_check
      CHECK (CASE WHEN turn_id IS NULL THEN amount <> 0 AND operator IS NOT NULL ELSE amount IN (-1, 1) AND operator IS NULL END)
  );
  CREATE INDEX adjustments_month ON quota.adjustments (workspace_id, month, turn_id);
`;
