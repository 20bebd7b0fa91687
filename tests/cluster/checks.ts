import { expect } from "vitest";
import type { Installation, Tenant } from "./installation.ts";
import type { LoadReport } from "./load.ts";

/** Runs an operation, prints its duration and a description of its result, and returns the result. */
export async function timed<T>(
  name: string,
  operation: () => Promise<T>,
  describeResult?: (result: T) => string,
): Promise<T> {
  const startedAt = performance.now();
  const result = await operation();
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  console.log(`${name}: ${seconds} s${describeResult === undefined ? "" : `, ${describeResult(result)}`}`);
  return result;
}

export function describeStreams({ complete, total }: LoadReport): string {
  return `${complete} of ${total} streams complete`;
}

/** Waits until `usage-audit` reports no difference and the tenant has no hold. Returns the number of the tenant's counted replies. */
export async function countReplies({ parley }: Installation, { workspaceId }: Tenant): Promise<number> {
  let replies = 0;
  // Settling takes a moment, and the sweeper closes interrupted turns within a minute.
  await expect
    .poll(
      async () => {
        const { balanced, workspaces } = JSON.parse(await parley("usage-audit", "--json"));
        // Only workspaces with usage are listed.
        const unused = { done_messages: 0, used: 0, ledger: 0, held: 0 };
        const { done_messages, used, ledger, held } =
          workspaces.find(({ id }: { id: string }) => id === workspaceId) ?? unused;
        replies = done_messages;
        return { balanced, usedDifference: used - replies, ledgerDifference: ledger - replies, held };
      },
      { timeout: 120_000, interval: 1_000 },
    )
    .toEqual({ balanced: true, usedDifference: 0, ledgerDifference: 0, held: 0 });
  return replies;
}

/**
 * Returns a function that checks that a load had more than 50 streams and that none failed. The tenant's counted replies must then equal
 * `initialReplies` plus the replies of this load and of all loads checked before.
 */
export function createLoadCheck(
  installation: Installation,
  tenant: Tenant,
  initialReplies = 0,
): (report: LoadReport) => Promise<void> {
  let expected = initialReplies;
  return async (report) => {
    expect(report.failures).toEqual({});
    expect(report.complete).toBe(report.total);
    expect(report.complete).toBeGreaterThan(50);
    expected += report.complete;
    expect(await countReplies(installation, tenant)).toBe(expected);
  };
}
