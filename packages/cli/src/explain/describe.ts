import type { TurnRecord } from "@parley/rpc/conversation";
import type { Call } from "@parley/rpc/llm";
import type { TurnEntry } from "@parley/rpc/quota";
import { fields, table } from "../output/table.ts";
import type { Explained } from "./collect.ts";
import type { Times } from "./times.ts";
import { timeLine, waterfall } from "./waterfall.ts";

/** Formats the explanation as text for a terminal with this number of columns. */
export function describe({ turn, calls, entry, missing }: Explained, times: Times, columns: number): string {
  const missingNotes = new Map(missing.map((each) => [each.service, `missing: ${each.why}\n`]));
  return [
    head(turn),
    waterfall(times.phases, columns) + timesBelow(turn, times),
    titled("Model", calls ? describeCalls(calls) : missingNotes.get("llm")),
    titled("Knowledge", describeKnowledge(turn)),
    titled("Tools", describeTools(turn)),
    titled("Quota", entry ? describeEntry(entry) : missingNotes.get("quota")),
  ].join("\n");
}

function titled(title: string, text = ""): string {
  return `${title}\n${text.replace(/^(?=.)/gm, "  ")}`;
}

function head(turn: TurnRecord): string {
  const reason = turn.errorCode || turn.blockedReason;
  return fields([
    ["message", String(turn.messageId)],
    ["turn", turn.turnId],
    ["session", `${turn.sessionId} (${turn.source}, bot ${turn.botSlug})`],
    ["opened", turn.openedAt],
    ["ended", reason === "" ? turn.status : `${turn.status}: ${reason}`],
    ["model", turn.model || turn.askedModel || "the installation's default"],
    ["tokens", `${turn.tokensIn} in, ${turn.tokensOut} out`],
  ]);
}

function timesBelow(turn: TurnRecord, { wallMs, phases, closeMs, settleMs }: Times): string {
  const isRecorded = phases.every(({ name }) => name !== "unrecorded");
  const wall = timeLine("wall", wallMs, isRecorded ? "" : `by the database's clock; ${unrecorded(turn)}`);
  if (turn.status === "streaming" || turn.status === "blocked") return wall;
  const close = timeLine("close", closeMs, "from the end of the response until the outcome was stored");
  return (
    wall +
    close +
    timeLine(
      "settle",
      settleMs,
      turn.isSettling ? "pending in the outbox" : "from the stored outcome until quota settled the turn",
    )
  );
}

function unrecorded({ status }: TurnRecord): string {
  if (status === "streaming") return "the turn is still streaming";
  if (status === "blocked") return "the edge has not reported the phases";
  return "the edge stopped before it reported the phases";
}

function describeCalls(calls: readonly Call[]): string {
  if (calls.length === 0) return "No provider was called.\n";
  const rows = calls.map((call) => [
    call.model || call.asked || "–",
    call.reason === "" ? call.outcome : `${call.outcome}: ${call.reason}`,
    call.attempts,
    call.failovers,
    call.queueMs,
    call.firstTokenMs,
    call.latencyMs,
    `${call.tokensIn} / ${call.tokensOut}${call.tokensEstimated ? " (estimated)" : ""}`,
    call.cost || "–",
  ]);
  const titles = ["model", "outcome", "attempts", "failovers", "queue ms", "first ms", "total ms", "tokens", "cost"];
  const attempts = calls.flatMap((call) => call.tries);
  if (attempts.length < 2 && attempts.every(({ reason }) => reason === "")) return table(titles, rows, "");
  const attemptRows = attempts.map((each, index) => [
    index + 1,
    each.model,
    each.reason || "ok",
    each.next || "–",
    each.latencyMs,
  ]);
  return `${table(titles, rows, "")}\n${table(["attempt", "model", "result", "next", "ms"], attemptRows, "")}`;
}

function describeKnowledge({ knowledge }: TurnRecord): string {
  const rows = knowledge.map(({ chunkId, source, heading }) => [String(chunkId), source || "(removed)", heading]);
  return table(["chunk", "source", "heading"], rows, "No passages were used.");
}

function describeTools({ tools }: TurnRecord): string {
  const rows = tools.map(({ name, status, latencyMs }) => [name, status, latencyMs]);
  return table(["tool", "status", "ms"], rows, "No tools were called.");
}

function describeEntry({ state, month, heldAt, settledAt, countedAt }: TurnEntry): string {
  if (state === "") return "Nothing was held.\n";
  return fields([
    ["month", month],
    ["hold", heldAt === "" ? "none" : `held ${heldAt}`],
    ["settled", state === "held" ? "not yet" : `${state} ${settledAt}`],
    ["usage ledger", countedAt === "" ? "not counted" : `counted ${countedAt}`],
  ]);
}
