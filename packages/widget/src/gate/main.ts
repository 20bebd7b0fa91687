// What a visitor has to pass before the service accepts a message. The panel loads this file with the first refusal that asks for it.

import type { ChunkContext } from "../panel/chunk.ts";
import { addWords, type Words } from "../panel/words.ts";
import { addStyles, createElement } from "../shared/dom.ts";
import type { Failure } from "../shared/failure.ts";
import { GATE_ENGLISH } from "./english.ts";
import css from "./gate.css";

/** Fields for the body of a message and of all later messages of its session. */
export type GateFields = Readonly<Record<string, string>>;

export interface Gate {
  /**
   * Gets the fields that a refused message lacks. Rejects with a Failure if the visitor declines or a check fails: the visitor sees the
   * notice of its code, such as `stopped`, with a button to try again. Rejects at once if the signal is aborted.
   */
  pass(refusal: Failure, session: string, signal: AbortSignal): Promise<GateFields>;
}

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

/** The passes by the code of the refusal. */
const PASSES: Readonly<Record<string, (request: GateRequest) => Promise<GateFields>>> = {};

export function createGate(context: ChunkContext): Gate {
  const { root, focus } = context;
  const shadow = root.getRootNode() as ShadowRoot;
  const words = addWords(GATE_ENGLISH, context);
  addStyles(shadow, css);
  return {
    async pass(refusal, session, signal) {
      const pass = PASSES[refusal.code];
      if (!pass) {
        throw refusal;
      }
      const box = createElement("div", { class: "gate" });
      const aborted = new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
      const start = async () => pass({ ...context, words: await words, refusal, session, signal, box });
      signal.throwIfAborted();
      root.querySelector(".composer")?.before(box);
      try {
        return await Promise.race([start(), aborted]);
      } finally {
        const hadFocus = box.contains(shadow.activeElement);
        box.remove();
        if (hadFocus) {
          focus();
        }
      }
    },
  };
}
