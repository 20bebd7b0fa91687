import { invalidArgument } from "@parley/service-kit";
import {
  type Comparison,
  compareCountedTurns,
  compareDoneTurns,
  compareHolds,
  compareUnpaidReplies,
  type ReconcileDeps,
  type Repair,
} from "./reconcile.service.ts";

export type RepairRequest = { workspaceId: string; since: string; token: string };

export type RepairDeps = ReconcileDeps & {
  /** Sends done turns to the llm-proxy, which adds the rows that its call log lacks. */
  callLogComparison: Comparison;
};

type Step = {
  name: string;
  /** Returns the function that compares a page and repairs its differences. */
  compare: (deps: RepairDeps) => Comparison;
  /** Whether an earlier step has compared the same turns. If so, `checked` counts only the turns that this step repairs. */
  repeatsTurns: boolean;
};

/** The call log comes last, so that usage is repaired even while the llm-proxy is unavailable. */
const STEPS: readonly Step[] = [
  { name: "holds", compare: () => compareHolds, repeatsTurns: false },
  { name: "done", compare: () => compareDoneTurns, repeatsTurns: false },
  { name: "counted", compare: () => compareCountedTurns, repeatsTurns: true },
  { name: "unpaid", compare: () => compareUnpaidReplies, repeatsTurns: true },
  { name: "call_log", compare: ({ callLogComparison }) => callLogComparison, repeatsTurns: true },
];

/** Bounds the work of a call, in pages of 1,000 turns. */
const MAX_PAGES = 5;

/**
 * Compares up to MAX_PAGES pages of one step, and repairs the differences. `token` selects the step and the page. `since` does not limit the
 * step that compares holds. Returns the token of the next call, empty after the last step.
 */
export async function repair(
  deps: RepairDeps,
  { workspaceId, since, token }: RepairRequest,
  minAgeSeconds: number,
): Promise<{ repairs: Repair[]; checked: number; nextToken: string }> {
  // A token is the name of a step. If the step has begun, a space and the step's page token follow.
  const [name = "", ...rest] = token === "" ? [STEPS[0]?.name] : token.split(" ");
  const index = STEPS.findIndex((step) => step.name === name);
  const step = STEPS[index];
  if (step === undefined) throw invalidArgument("token must be the next_token of the previous response");
  const compare = step.compare(deps);
  const window = { workspaceId, since: compare === compareHolds ? "" : since, minAgeSeconds };
  const repairs: Repair[] = [];
  let checked = 0;
  let pageToken = rest.join(" ");
  for (let page = 0; page < MAX_PAGES; page++) {
    const compared = await compare(deps, window, pageToken);
    repairs.push(...compared.repairs);
    checked += step.repeatsTurns ? compared.repairs.length : compared.checked;
    pageToken = compared.next;
    if (pageToken === "") return { repairs, checked, nextToken: STEPS[index + 1]?.name ?? "" };
  }
  return { repairs, checked, nextToken: `${name} ${pageToken}` };
}
