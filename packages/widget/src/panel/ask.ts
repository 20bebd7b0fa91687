import { Failure } from "../shared/failure.ts";
import { streamTurn } from "../shared/stream-turn.ts";
import type { PanelContext } from "../shared/types.ts";

/** An answer as far as it has come. */
export interface Answer {
  readonly text: string;
  /** Set when it can be rated: not on what is shown instead of a blocked message's answer. */
  readonly messageId?: number;
}

/** Sends a visitor's message and reports the answer as it grows. Throws a Failure, or the signal's reason. */
export async function ask(
  { base, publicKey, visitor }: PanelContext,
  session: string,
  message: string,
  signal: AbortSignal,
  onAnswer: (answer: Answer) => void,
): Promise<void> {
  let answer: Answer = { text: "" };
  let failure: Failure | undefined;
  await streamTurn({
    url: `${base}api/chat/`,
    body: {
      public_key: publicKey,
      session_id: session,
      message,
      // Undefined ones are left out of the JSON.
      visitor_id: visitor.visitorId,
      visitor_metadata: visitor.metadata,
    },
    signal,
    onEvent(name, data) {
      if (name === "meta") {
        answer = { ...answer, messageId: data.message_id as number };
      } else if (name === "token") {
        answer = { ...answer, text: answer.text + (data.text as string) };
      } else if (name === "blocked") {
        answer = { text: data.fallback as string };
      } else if (name === "error") {
        failure = new Failure(data.code as string);
      }
      onAnswer(answer);
    },
  });
  // A reply of no words is none.
  if (failure || !answer.text.trim()) {
    throw failure ?? new Failure("empty");
  }
}
