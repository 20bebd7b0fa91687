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
 * Where a turn writes its events, in the contract's order. SSE is the first one.
 * `token` gives a promise when the reader is slow, which resolves when it can take more: to be awaited, so that it slows the model and
 * fills no memory.
 */
export type TurnSink = {
  meta(meta: Meta): void;
  token(text: string): Promise<void> | undefined;
  blocked(blocked: Blocked): void;
  error(failure: Failure | QuotaExceeded): void;
  done(done: Done): void;
};
