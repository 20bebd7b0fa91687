import type { MessageInitShape } from "@bufbuild/protobuf";
import { REQUEST_HUMAN } from "@parley/bot-rules/tools";
import type { CloseTurnRequest, CloseTurnResponseSchema } from "@parley/rpc/conversation";
import { OUTCOMES, type Outcome, outcomeFromProto, toFinishDetail } from "@parley/rpc/outcomes";
import {
  type Database,
  invalidArgument,
  isUuid,
  isWorkspaceId,
  notFound,
  parseDay,
  ServiceError,
} from "@parley/service-kit";
import {
  applyRequestRule,
  askForPerson,
  type Change,
  type RequestDeps,
  readHandoffOfTurn,
  toHandoffMessage,
} from "../handoff/index.ts";
import type { TurnCounter } from "../metrics.ts";
import { withoutNul } from "../text.ts";
import type { CapReached } from "./cap-reached.ts";
import {
  type Closing,
  closeTurn,
  findRunningTurn,
  findTurnResult,
  type NotifySettler,
  type QuotaUsage,
  recordTimings,
} from "./close-turn.store.ts";
import { toMessageSources } from "./message-sources.ts";
import { type ToolUse, toToolUse } from "./tool-use.ts";

/** A blocked reply has another text, and a failed one shows no sources. */
const MAY_CITE: ReadonlySet<Outcome> = new Set(["done", "cancelled"]);
const MAY_BE_UNPAID: ReadonlySet<Outcome> = new Set(["cancelled", "blocked", "error"]);

type Response = MessageInitShape<typeof CloseTurnResponseSchema>;

export type CloseTurnDeps = RequestDeps & {
  counter: TurnCounter;
  notifySettler: NotifySettler;
  capReached: Pick<CapReached, "set">;
};

/** Closes a turn with the first outcome that a caller reports, and returns that outcome to every caller. */
export async function handleCloseTurn(deps: CloseTurnDeps, request: CloseTurnRequest): Promise<Response> {
  const closing = toClosing(request);
  if (closing.outcome === "quota_exceeded") deps.capReached.set(closing.workspaceId, true);
  const asksForPerson = closing.outcome === "done" && closing.toolsCalled.some(isRequestForPerson);
  const isCancelled = closing.outcome === "cancelled";
  let change = asksForPerson ? await askForModel(deps, closing) : undefined;
  const closed = await closeTurn(deps.database, closing);
  if (closed === undefined) {
    // OpenTurn closes a turn whose message is blocked, and stores no timings.
    if (closing.outcome === "blocked") await recordTimings(deps.database, closing);
    const result = await readStoredResult(deps.database, closing);
    // The call that closed the turn may have asked for a person, and its response may be lost.
    const mayHavePerson = asksForPerson || isCancelled || closing.finishDetail === "declined";
    const handoff = mayHavePerson ? await readHandoffOfTurn(deps.database, closing) : undefined;
    return { ...result, ...(handoff && { handoff: toHandoffMessage(handoff) }) };
  }
  deps.notifySettler([closed]);
  deps.counter.inc({ outcome: closing.outcome });
  if (closing.finishDetail === "declined") change ??= await applyRequestRule(deps, closed, "declined");
  // An earlier call may have asked without closing the turn. A takeover cancels the turn.
  const mayHavePerson = asksForPerson || isCancelled;
  const handoff = change?.handoff ?? (mayHavePerson ? await readHandoffOfTurn(deps.database, closing) : undefined);
  const { outcome, tokensIn, tokensOut, latencyMs, errorCode } = closing;
  return {
    outcome: OUTCOMES[outcome].proto,
    model: closed.model,
    tokensIn,
    tokensOut,
    latencyMs,
    errorCode,
    ...(handoff && { handoff: toHandoffMessage(handoff) }),
  };
}

const isRequestForPerson = ({ name, status }: ToolUse) => name === REQUEST_HUMAN && status === "ok";

/**
 * Asks for a person because the model has called request_human. Before the turn is closed: if the process stops in between, the edge repeats the
 * call. A turn that is not running any more asks for nobody.
 */
async function askForModel(deps: CloseTurnDeps, { workspaceId, turnId }: Closing): Promise<Change | undefined> {
  const turn = await findRunningTurn(deps.database, workspaceId, turnId);
  const bot = turn && (await deps.botConfigs(workspaceId, turn.botId));
  if (turn === undefined || !bot?.handoffEnabled) return undefined;
  return (await askForPerson(deps, bot, { workspaceId, ...turn }, "model")).change;
}

async function readStoredResult(database: Database, { workspaceId, turnId, deadlineMicroseconds }: Closing) {
  const stored = await findTurnResult(database, workspaceId, turnId, deadlineMicroseconds);
  if (stored === undefined) throw turnNotFound();
  const { status, isLate, ...result } = stored;
  if (status === "streaming" && isLate)
    throw new ServiceError("failed_precondition", "deadline_passed", "the turn can no longer be closed as done");
  // A concurrent OpenTurn stored the turn after closeTurn had looked for it. A retry closes the turn.
  if (status === "streaming") throw new ServiceError("unavailable", "unavailable", "the turn was not open yet; retry");
  return { outcome: OUTCOMES[status].proto, ...result };
}

function toClosing(request: CloseTurnRequest): Closing {
  const { workspaceId, turnId } = request;
  if (!isWorkspaceId(workspaceId) || !isUuid(turnId)) throw turnNotFound();
  // The rules of the proto require an outcome.
  const outcome = outcomeFromProto(request.outcome) as Outcome;
  const month = request.month || undefined;
  if (outcome === "done" && month === undefined) throw invalidArgument("month must be set when outcome is done");
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
    chunksCited: MAY_CITE.has(outcome) ? request.chunksCited.map(Number) : [],
    sources: MAY_CITE.has(outcome) ? toMessageSources(request.sources) : [],
    blockedReason: outcome === "blocked" ? withoutNul(request.blockedReason) : undefined,
    deadlineMicroseconds: outcome === "done" ? toNumber(request.deadlineMicroseconds) : undefined,
    quota: outcome === "quota_exceeded" ? toQuotaUsage(request) : undefined,
    reconnects: request.reconnects,
    finishDetail: outcome === "done" ? toFinishDetail(request.finishDetail) : "",
    unpaidDay: MAY_BE_UNPAID.has(outcome) ? parseDay(request.unpaidDay) : undefined,
  };
}

function toQuotaUsage({ quota }: CloseTurnRequest): QuotaUsage | undefined {
  return quota && { plan: withoutNul(quota.plan), used: quota.used, cap: quota.cap };
}

function toNumber(microseconds: bigint | undefined): number | undefined {
  return microseconds === undefined ? undefined : Number(microseconds);
}

function turnNotFound() {
  return notFound("turn_not_found", "no such turn");
}
