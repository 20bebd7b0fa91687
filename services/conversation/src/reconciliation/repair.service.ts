import { invalidArgument, isUtcTime, isWorkspaceId } from "@parley/service-kit";
import {
  type Comparison,
  compareCountedTurns,
  compareDoneTurns,
  compareHolds,
  type ReconcileDeps,
  type Repair,
} from "./reconcile.service.ts";

export type RepairRequest = { workspaceId: string; since: string; token: string };

const STEPS: readonly { name: string; compare: Comparison }[] = [
  { name: "holds", compare: compareHolds },
  { name: "done", compare: compareDoneTurns },
  { name: "counted", compare: compareCountedTurns },
];

/** Bounds the work of a call, in pages of 1,000 turns. */
const MAX_PAGES = 5;

/**
 * Compares a part of the turns since a time with usage, and repairs what differs. Returns the repairs and the token with which the next
 * call continues; the token is empty at the end. Compares holds of every age.
 */
export async function repair(
  deps: ReconcileDeps,
  { workspaceId, since, token }: RepairRequest,
  minAgeSeconds: number,
): Promise<{ repairs: Repair[]; checked: number; nextToken: string }> {
  if (!isUtcTime(since)) throw invalidArgument("since must be a time in UTC like 2026-11-22T18:50:00Z");
  const [name = "", ...rest] = token === "" ? [STEPS[0]?.name] : token.split(" ");
  const index = STEPS.findIndex((step) => step.name === name);
  const step = STEPS[index];
  if (step === undefined) throw invalidArgument("token must be the next_token of the previous response");
  // No workspace can have this id, so there is nothing to compare.
  if (workspaceId !== "" && !isWorkspaceId(workspaceId)) return { repairs: [], checked: 0, nextToken: "" };
  const window = { workspaceId, since: step.compare === compareHolds ? "" : since, minAgeSeconds };
  const repairs: Repair[] = [];
  let checked = 0;
  let pageToken = rest.join(" ");
  for (let page = 0; page < MAX_PAGES; page++) {
    const compared = await step.compare(deps, window, pageToken);
    repairs.push(...compared.repairs);
    checked += compared.checked;
    pageToken = compared.next;
    if (pageToken === "") return { repairs, checked, nextToken: STEPS[index + 1]?.name ?? "" };
  }
  return { repairs, checked, nextToken: `${name} ${pageToken}` };
}
