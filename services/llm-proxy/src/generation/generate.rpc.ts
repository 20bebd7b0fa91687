import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallContext } from "@parley/rpc";
import { type GenerateRequest, type GenerateResponseSchema, GenerateStatus } from "@parley/rpc/llm";
import { failpoint, invalid, isUuid, isWorkspaceId, parseMonth } from "@parley/service-kit";
import type { CallRow, Ledger, TryRow } from "../call-log/index.ts";
import type { Metrics } from "../metrics.ts";
import type { Take } from "../providers/index.ts";
import { parseModelName, toDecimal } from "../settings/index.ts";
import { beginCall, type CallRecord, type Metering, type Outcome, type Try } from "./call-record.ts";
import { joined } from "./coalesce-text.ts";
import type { FlushClock } from "./flush-clock.ts";
import type { ReplyEvent } from "./generate.ts";
import type { Responder } from "./generator.ts";
import { type CountTokens, meter } from "./meter.ts";
import { readPrompt } from "./read-prompt.ts";
import { pieces } from "./split-text.ts";

export type GenerateDeps = {
  responder: Responder;
  ledger: Ledger;
  clock: FlushClock;
  tokens: Metrics["tokens"];
  countTokens: CountTokens;
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
  /** Milliseconds since 1970. */
  wallClock: () => number;
  newId: () => string;
};

const STATUS: Record<Outcome, GenerateStatus> = {
  complete: GenerateStatus.COMPLETE,
  blocked: GenerateStatus.BLOCKED,
  provider_auth: GenerateStatus.PROVIDER_AUTH,
  provider_rate_limited: GenerateStatus.PROVIDER_RATE_LIMITED,
  provider_timeout: GenerateStatus.PROVIDER_TIMEOUT,
  provider_error: GenerateStatus.PROVIDER_ERROR,
  model_unknown: GenerateStatus.MODEL_UNKNOWN,
  // Nobody is left to read it.
  cancelled: GenerateStatus.PROVIDER_ERROR,
};

/**
 * Streams a reply: deltas in order, then exactly one end, whatever happens to the provider. Throws invalid_argument or invalid_prompt
 * before anything is sent. Every call leaves a row in the ledger, also one whose caller went away.
 */
export async function* handleGenerate(
  deps: GenerateDeps,
  request: GenerateRequest,
  context: Pick<CallContext, "signal">,
): AsyncGenerator<MessageInitShape<typeof GenerateResponseSchema>> {
  const { workspaceId, turnId, model: asked } = request;
  if (!isWorkspaceId(workspaceId)) throw invalid("workspace_id is not that of a workspace");
  if (!isUuid(turnId)) throw invalid("turn_id is not a UUID");
  const month = parseMonth(request.month) ?? null;
  const prompt = readPrompt(request.prompt);
  const record = beginCall({ workspaceId, turnId, asked, startedAtMs: deps.now() });
  const startedAt = new Date(deps.wallClock());
  let metering: Metering | undefined;
  let areWaitsTold = false;
  const waitsOnce = () => {
    if (areWaitsTold) return {};
    areWaitsTold = true;
    return { waits: waitsOf(record, deps.now()) };
  };
  const leave = deps.clock.enter();
  try {
    const begin = (take: Take<ReplyEvent>) => deps.responder.respond(record, prompt, context.signal, take);
    for await (const event of joined(begin, () => deps.clock.wait())) {
      if (typeof event === "string") {
        for (const piece of pieces(event)) yield { event: { case: "delta", value: { text: piece } }, ...waitsOnce() };
        failpoint("llm.token");
      } else yield { event: { case: "toolCall", value: event }, ...waitsOnce() };
    }
    const { outcome = "cancelled", attempts } = record;
    metering = await meter(record, prompt, deps.countTokens);
    const { tokensIn, tokensOut, estimated } = metering;
    const model = attempts > 0 ? record.model : "";
    const end = {
      status: STATUS[outcome],
      model,
      tokensIn,
      tokensOut,
      tokensEstimated: estimated,
      attempts,
      ...(record.blocked && { blocked: record.blocked }),
    };
    yield { event: { case: "end", value: end }, ...waitsOnce() };
  } finally {
    leave();
    // Of who left, nobody waits for an exact count.
    metering ??= await meter(record, prompt, () => Promise.resolve(undefined));
    const provider = record.provider || "none";
    deps.tokens.inc({ provider, direction: "in" }, metering.tokensIn);
    deps.tokens.inc({ provider, direction: "out" }, metering.tokensOut);
    deps.ledger.add({ ...toRow(record, metering, deps.newId(), startedAt), month });
  }
}

/** How long the first text has been waited for, or the end without one, from when the first model was tried. */
function waitsOf({ tries, startedAtMs, firstTokenAtMs, queueMs }: CallRecord, nowMs: number) {
  const [first] = tries;
  const waitedMs = first === undefined ? 0 : (firstTokenAtMs ?? nowMs) - startedAtMs - first.startedMs;
  return { queueMicroseconds: microseconds(queueMs), providerMicroseconds: microseconds(waitedMs - queueMs) };
}

function microseconds(ms: number): bigint {
  return BigInt(Math.max(0, Math.round(ms * 1_000)));
}

function toRow(record: CallRecord, metering: Metering, callId: string, createdAt: Date): Omit<CallRow, "month"> {
  const { startedAtMs, firstTokenAtMs, endedAtMs = startedAtMs } = record;
  return {
    workspaceId: record.workspaceId,
    callId,
    turnId: record.turnId,
    provider: record.provider,
    model: record.model,
    // What is no model's name may be anything, and is not kept.
    asked: parseModelName(record.asked) === undefined ? "" : record.asked,
    ...metering,
    queueMs: Math.round(record.queueMs),
    firstTokenMs: firstTokenAtMs === undefined ? 0 : Math.round(firstTokenAtMs - startedAtMs),
    latencyMs: Math.round(endedAtMs - startedAtMs),
    attempts: record.attempts,
    failovers: record.failovers,
    outcome: record.outcome ?? "cancelled",
    reason: record.reason,
    cost: toDecimal(metering.cost),
    rounds: record.questions,
    toolCalls: record.toolCalls,
    toolsMs: Math.round(record.toolsMs),
    tries: record.tries.map(toTryRow),
    createdAt,
  };
}

function toTryRow(tried: Try): TryRow {
  const { startedMs, queueMs, firstTokenMs = 0, latencyMs } = tried;
  return {
    ...tried,
    startedMs: Math.round(startedMs),
    queueMs: Math.round(queueMs),
    firstTokenMs: Math.round(firstTokenMs),
    latencyMs: Math.round(latencyMs),
  };
}
