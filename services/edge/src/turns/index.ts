export { closeAbandonedTurn } from "./close-abandoned-turn.ts";
export { requireConsent } from "./consent.ts";
export {
  createTerminalEvents,
  readEnding,
  readStoredReply,
  type StoredReply,
  type TerminalEvents,
  type TurnEnding,
  type TurnSink,
  toShownSource,
} from "./ending.ts";
export type { MetaEvent } from "./events.ts";
export { type HandoffBody, HandoffState, MessageAgent, toHandoffBody } from "./handoff-state.ts";
export { KeyedReply, type ReplyReader, splitsSurrogatePair, textPieceAt } from "./keyed-reply.ts";
export type { LiveSignal } from "./live-signal.ts";
export { type IdempotencyHashes, runKeyedTurn } from "./run-keyed-turn.ts";
export { runTurn, type TurnContext, type TurnDeps, type TurnReport, type TurnRequest } from "./run-turn.ts";
export { type IdempotencyKey, type RunningTurn, RunningTurns, STOP_TIMEOUT_MS } from "./running-turns.ts";
export { Stopwatch } from "./stopwatch.ts";
export { TurnStartLimiter } from "./turn-start-limiter.ts";
