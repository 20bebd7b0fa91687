/** How a stream ended, as the contract's finish_reason has it. */
export type FinishReason = "stop" | "error" | "blocked" | "quota_exceeded";

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
 * `token` resolves when the reader can take more, so that a slow reader slows the model and fills no memory.
 */
export type TurnSink = {
  meta(meta: Meta): void;
  token(text: string): Promise<void>;
  blocked(blocked: Blocked): void;
  error(failure: Failure | QuotaExceeded): void;
  done(done: Done): void;
};
