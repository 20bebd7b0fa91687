import type { TurnRecord } from "@parley/rpc/conversation";
import type { Call } from "@parley/rpc/llm";
import type { TurnEntry } from "@parley/rpc/quota";
import { fields, table } from "../output/table.ts";
import type { Explained } from "./collect.ts";
import type { Times } from "./times.ts";
import { timeLine, waterfall } from "./waterfall.ts";

/** The explanation for people, on a terminal of so many columns. */
export function describe({ turn, calls, entry, missing }: Explained, times: Times, columns: number): string {
  const why = new Map(missing.map((each) => [each.service, `missing: ${each.why}\n`]));
  return [
    head(turn),
    waterfall(times.phases, columns) + beside(turn, times),
    titled("Model", calls ? describeCalls(calls) : why.get("llm")),
    titled("Knowledge", describeKnowledge(turn)),
    titled("Tools", describeTools(turn)),
    titled("Quota", entry ? describeEntry(entry) : why.get("quota")),
  ].join("\n");
}

function titled(title: string, text = ""): string {
  return `${title}\n${text.replace(/^(?=.)/gm, "  ")}`;
}

function head(turn: TurnRecord): string {
  const { errorCode, blockedReason } = turn;
  const why = errorCode || blockedReason;
  return fields([
    ["message", String(turn.messageId)],
    ["turn", turn.turnId],
    ["session", `${turn.sessionId} (${turn.source}, bot ${turn.botSlug})`],
    ["opened", turn.openedAt],
    ["ended", why === "" ? turn.status : `${turn.status}: ${why}`],
    ["model", turn.model || turn.askedModel || "the installation's default"],
    ["tokens", `${turn.tokensIn} in, ${turn.tokensOut} out`],
  ]);
}

function beside(turn: TurnRecord, { wallMs, phases, closeMs, settleMs }: Times): string {
  const isRecorded = phases.every(({ name }) => name !== "unrecorded");
  const wall = timeLine("wall", wallMs, isRecorded ? "" : `by the database's clock: ${unrecorded(turn)}`);
  if (turn.status === "streaming" || turn.status === "blocked") return wall;
  const close = timeLine("close", closeMs, "after it, until the outcome was stored");
  return (
    wall + close + timeLine("settle", settleMs, turn.isSettling ? "waits in the outbox" : "then, until it was booked")
  );
}

function unrecorded({ status }: TurnRecord): string {
  if (status === "streaming") return "it is still streaming";
  if (status === "blocked") return "its edge has not told its phases";
  return "its edge was gone before it could tell its phases";
}

function describeCalls(calls: readonly Call[]): string {
  if (calls.length === 0) return "no provider was called\n";
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
  const tries = calls.flatMap((call) => call.tries);
  if (tries.length < 2 && tries.every(({ reason }) => reason === "")) return table(titles, rows, "");
  const tried = tries.map((each, index) => [
    index + 1,
    each.model,
    each.reason || "answered",
    each.next || "–",
    each.latencyMs,
  ]);
  return `${table(titles, rows, "")}\n${table(["try", "model", "result", "next", "ms"], tried, "")}`;
}

function describeKnowledge({ knowledge }: TurnRecord): string {
  const rows = knowledge.map(({ chunkId, source, heading }) => [String(chunkId), source || "(removed since)", heading]);
  return table(["chunk", "source", "heading"], rows, "none was used");
}

function describeTools({ tools }: TurnRecord): string {
  const rows = tools.map(({ name, status, latencyMs }) => [name, status, latencyMs]);
  return table(["tool", "status", "ms"], rows, "none was called");
}

function describeEntry({ state, month, heldAt, settledAt, countedAt }: TurnEntry): string {
  if (state === "") return "nothing was held\n";
  return fields([
    ["month", month],
    ["hold", heldAt === "" ? "none" : `taken ${heldAt}`],
    ["settled", state === "held" ? "not yet" : `${state} ${settledAt}`],
    ["ledger", countedAt === "" ? "not counted" : `counted ${countedAt}`],
  ]);
}
