import type { FinishReason } from "@parley/rpc/outcomes";

export type MetaEvent = { session_id: string; message_id: number };

export type BlockedEvent = { reason: string; fallback: string };

export type QuotaExceededEvent = { code: "quota_exceeded"; plan: string; used: number; cap: number; message: string };

export type FailureEvent = { code: string; message: string };

/** `url` is absent if the document is not a public page. */
export type ShownSource = { number: number; title: string; url?: string };

export type SourcesEvent = { sources: ShownSource[] };

export type DoneEvent = {
  finish_reason: FinishReason;
  tokens_in: number;
  tokens_out: number;
  latency_ms: number;
  model: string;
};
