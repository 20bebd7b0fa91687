import type { ChunkContext } from "../panel/chunk.ts";
import type { Words } from "../panel/words.ts";
import type { Failure } from "../shared/failure.ts";
import type { GATE_ENGLISH } from "./english.ts";

/** Fields for the body of a message and of all later messages of its session. */
export type GateFields = Readonly<Record<string, string>>;

/** A message that the service refused, and what a pass needs of the panel. */
export interface GateRequest extends Omit<ChunkContext, "words" | "signal"> {
  readonly words: Words & Readonly<Record<keyof typeof GATE_ENGLISH, string>>;
  readonly refusal: Failure;
  readonly session: string;
  /** Aborted when the visitor stops the message, or the widget is destroyed. */
  readonly signal: AbortSignal;
  /** An empty element above the text field. It is removed when the pass ends, and the focus then returns to the text field. */
  readonly box: HTMLElement;
}
