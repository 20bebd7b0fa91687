// What a visitor has to pass before the service accepts a message. The panel loads this file with the first refusal that asks for it.

import { addWords, type ChunkContext } from "../panel/chunk.ts";
import { addStyles, createElement } from "../shared/dom.ts";
import type { Failure } from "../shared/failure.ts";
import { rejectOnAbort } from "../shared/pause.ts";
import { passChallenge } from "./challenge.ts";
import { askConsent } from "./consent.ts";
import { GATE_ENGLISH } from "./english.ts";
import css from "./gate.css";
import type { GateFields, GateRequest } from "./request.ts";
import { waitToSend } from "./wait.ts";

export interface Gate {
  /**
   * Resolves when a refused message may be sent again, to the fields that it lacks. Rejects with a Failure if the visitor declines or a check fails: the visitor sees the
   * notice of its code, such as `stopped`, with a button to try again. Rejects at once if the signal is aborted.
   */
  pass(refusal: Failure, session: string, signal: AbortSignal): Promise<GateFields>;
}

/** The passes by the code of the refusal. */
const PASSES: Readonly<Record<string, (request: GateRequest) => Promise<GateFields>>> = {
  challenge_required: passChallenge,
  consent_required: askConsent,
  rate_limited: waitToSend,
};

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
      const start = async () => {
        const request = { ...context, words: await words, refusal, session, signal, box };
        try {
          return await pass(request);
        } catch (error) {
          // The request of the challenge has the same rate limit as the message.
          if ((error as Failure).code !== "rate_limited") {
            throw error;
          }
          await waitToSend({ ...request, refusal: error as Failure });
          return pass(request);
        }
      };
      signal.throwIfAborted();
      root.querySelector(".composer")?.before(box);
      try {
        return await Promise.race([start(), rejectOnAbort(signal)]);
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
