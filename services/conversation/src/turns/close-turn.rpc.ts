import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CloseTurnRequest, CloseTurnResponseSchema } from "@parley/rpc/conversation";
import { OUTCOMES, outcomeFromProto } from "@parley/rpc/outcomes";
import { type Database, invalid, isUuid, isWorkspaceId, notFound, parseMonth, ServiceError } from "@parley/service-kit";
import type { TurnCounter } from "../metrics.ts";
import { withoutNul } from "../text.ts";
import { type Closing, closeTurn, findMetering, noteTime, type Settlement } from "./close-turn.store.ts";
import { toToolUse } from "./tool-use.ts";

type Response = MessageInitShape<typeof CloseTurnResponseSchema>;

export type CloseTurnDeps = {
  database: Database;
  counter: TurnCounter;
  /** Told of a turn as soon as its outcome is committed. */
  onClosed: (closed: readonly Settlement[]) => void;
};

/**
 * One statement when this outcome is the first, and a second one to read the outcome that stands when it is not. A turn that was
 * blocked when it was opened is only noted where its time went.
 */
export async function handleCloseTurn(deps: CloseTurnDeps, request: CloseTurnRequest): Promise<Response> {
  const closing = toClosing(request);
  const closed = await closeTurn(deps.database, closing);
  if (closed === undefined) {
    if (closing.outcome === "blocked") await noteTime(deps.database, closing);
    return readStanding(deps.database, closing);
  }
  deps.onClosed([closed]);
  deps.counter.inc({ outcome: closing.outcome });
  const { outcome, tokensIn, tokensOut, latencyMs } = closing;
  return { outcome: OUTCOMES[outcome].proto, model: closed.model, tokensIn, tokensOut, latencyMs };
}

async function readStanding(
  database: Database,
  { workspaceId, turnId, deadlineMicroseconds }: Closing,
): Promise<Response> {
  const standing = await findMetering(database, workspaceId, turnId, deadlineMicroseconds);
  if (standing === undefined) throw turnNotFound();
  const { status, isLate, ...metering } = standing;
  if (status === "streaming" && isLate)
    throw new ServiceError("failed_precondition", "deadline_passed", "the turn can no longer be closed as done");
  // It was opened after we looked: there is nothing wrong in asking again.
  if (status === "streaming") throw new ServiceError("unavailable", "unavailable", "the turn is only just open");
  return { outcome: OUTCOMES[status].proto, ...metering };
}

function toClosing(request: CloseTurnRequest): Closing {
  const { workspaceId, turnId } = request;
  if (!isWorkspaceId(workspaceId) || !isUuid(turnId)) throw turnNotFound();
  const outcome = outcomeFromProto(request.outcome);
  if (outcome === undefined) throw invalid("outcome must be set");
  const month = parseMonth(request.month);
  if (outcome === "done" && month === undefined)
    throw invalid("a turn that is done needs the month it was reserved in");
  const { tokensIn, tokensOut, latencyMs, firstTokenMs } = request;
  return {
    workspaceId,
    turnId,
    outcome,
    month,
    content: withoutNul(request.content),
    model: withoutNul(request.model),
    tokensIn,
    tokensOut,
    latencyMs,
    firstTokenMs,
    errorCode: withoutNul(request.errorCode),
    phases: request.phases.map(({ name, microseconds }) => ({
      name: withoutNul(name),
      microseconds: Number(microseconds),
    })),
    toolsCalled: request.toolsCalled.map(toToolUse),
    blockedReason: outcome === "blocked" ? withoutNul(request.blockedReason) : undefined,
    deadlineMicroseconds: outcome === "done" ? toNumber(request.deadlineMicroseconds) : undefined,
  };
}

function toNumber(microseconds: bigint | undefined): number | undefined {
  return microseconds === undefined ? undefined : Number(microseconds);
}

function turnNotFound() {
  return notFound("turn_not_found", "no such turn");
}
