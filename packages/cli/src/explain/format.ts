import type { TurnRecord } from "@parley/rpc/conversation";
import type { Call } from "@parley/rpc/llm";
import type { TurnEntry } from "@parley/rpc/quota";
import { formatProviderError } from "../output/provider-error.ts";
import { formatFields, formatTable } from "../output/table.ts";
import type { TurnExplanation } from "./explain-turn.ts";
import type { TurnTimes } from "./turn-times.ts";
import { drawWaterfall, formatTimeLine } from "./waterfall.ts";

export function formatExplanation(
  { turn, calls, entry, missing }: TurnExplanation,
  times: TurnTimes,
  columns: number,
): string {
  const missingNotes = new Map(missing.map((each) => [each.service, `missing: ${each.why}\n`]));
  return [
    formatTurn(turn),
    drawWaterfall(times.phases, columns) + formatTimes(turn, times),
    formatSection("Model", calls ? formatCalls(calls) : missingNotes.get("llm")),
    formatSection("Knowledge", formatKnowledge(turn)),
    formatSection("Tools", formatTools(turn)),
    formatSection("Quota", entry ? formatQuota(entry, turn) : missingNotes.get("quota")),
  ].join("\n");
}

function formatSection(title: string, text = ""): string {
  return `${title}\n${text.replace(/^(?=.)/gm, "  ")}`;
}

function formatTurn(turn: TurnRecord): string {
  const reason = turn.errorCode || turn.blockedReason || turn.finishDetail;
  return formatFields([
    ["message", String(turn.messageId)],
    ["turn", turn.turnId],
    ["session", `${turn.sessionId} (${turn.source}, bot ${turn.botSlug})`],
    ["opened", turn.openedAt],
    ["status", reason === "" ? turn.status : `${turn.status}: ${reason}`],
    ["model", turn.model || turn.askedModel || "the installation's default"],
    ["tokens", `${turn.tokensIn} in, ${turn.tokensOut} out`],
    ...(turn.reconnects > 0 ? [["readers", `reconnected ${turn.reconnects}×`] as [string, string]] : []),
  ]);
}

function formatTimes(turn: TurnRecord, { wallMs, phases, closeMs, settleMs }: TurnTimes): string {
  const isRecorded = phases.every(({ name }) => name !== "unrecorded");
  const wall = formatTimeLine(
    "wall",
    wallMs,
    isRecorded ? "" : `by the database's clock; ${explainMissingPhases(turn)}`,
  );
  if (turn.status === "streaming" || turn.status === "blocked") return wall;
  const close = formatTimeLine("close", closeMs, "from the end of the reply's text until the outcome was stored");
  return (
    wall +
    close +
    formatTimeLine(
      "settle",
      settleMs,
      turn.isSettling ? "pending in the outbox" : "from the stored outcome until quota settled the turn",
    )
  );
}

function explainMissingPhases({ status }: TurnRecord): string {
  if (status === "streaming") return "the turn is still streaming";
  if (status === "blocked") return "the edge has not reported the phases";
  return "the edge stopped before it reported the phases";
}

function formatCalls(calls: readonly Call[]): string {
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
  if (attempts.length < 2 && attempts.every(({ reason }) => reason === "")) return formatTable(titles, rows, "");
  const attemptRows = attempts.map((each, index) => [
    index + 1,
    each.model,
    each.reason || "ok",
    each.next || "–",
    each.latencyMs,
    formatProviderError(each) || "–",
  ]);
  const attemptTitles = ["attempt", "model", "result", "next step", "ms", "provider's error"];
  return `${formatTable(titles, rows, "")}\n${formatTable(attemptTitles, attemptRows, "")}`;
}

function formatKnowledge({ knowledge }: TurnRecord): string {
  const rows = knowledge.map(({ chunkId, source, heading }) => [String(chunkId), source || "(removed)", heading]);
  return formatTable(["chunk", "source", "heading"], rows, "No passages were used.");
}

function formatTools({ tools }: TurnRecord): string {
  const rows = tools.map(({ name, status, latencyMs }) => [name, status, latencyMs]);
  return formatTable(["tool", "status", "ms"], rows, "No tools were called.");
}

function formatQuota(entry: TurnEntry, { unpaidDay }: TurnRecord): string {
  const { state, month, heldAt, settledAt } = entry;
  if (state === "") return "Nothing was held.\n";
  return formatFields([
    ["month", month],
    ["hold", heldAt === "" ? "none" : `held ${heldAt}`],
    ["settled", state === "held" ? "not yet" : `${state} ${settledAt}`],
    ["usage ledger", describeCount(entry)],
    ...(unpaidDay === "" ? [] : [["unpaid", `counted on ${unpaidDay}`] as [string, string]]),
  ]);
}

/** Describes whether the turn counts. An adjustment changes the turn's state, but not its row of the usage ledger. */
function describeCount({ state, countedAt }: TurnEntry): string {
  if (state === "done") return countedAt === "" ? "no row, counted by an adjustment" : `counted ${countedAt}`;
  return countedAt === "" ? "not counted" : `counted ${countedAt}, subtracted by an adjustment`;
}
