import type { FinishReason } from "@parley/rpc/outcomes";

export type Meta = { session_id: string; message_id: number };

export type Blocked = { reason: string; fallback: string };

export type QuotaExceeded = { code: "quota_exceeded"; plan: string; used: number; cap: number; message: string };

export type Failure = { code: string; message: string };

export type Done = {
  finish_reason: FinishReason;
  tokens_in: number;
  tokens_out: number;
  latency_ms: number;
  model: string;
};

/**
 * Receives a turn's events in the contract's order. SSE is the only implementation.
 * `token` returns a promise when the visitor reads slowly. Await it before reading more from the model (backpressure).
 */
export type TurnSink = {
  meta(meta: Meta): void;
  token(text: string): Promise<void> | undefined;
  blocked(blocked: Blocked): void;
  error(failure: Failure | QuotaExceeded): void;
  done(done: Done): void;
};
