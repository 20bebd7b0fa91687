import { setTimeout as sleep } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type RpcClient, RpcError, status } from "@parley/rpc";
import type { CloseTurnRequestSchema, CloseTurnResponse, ConversationService } from "@parley/rpc/conversation";
import { OUTCOMES } from "@parley/rpc/outcomes";
import type { Logger } from "@parley/service-kit";

type CloseTurnInit = MessageInitShape<typeof CloseTurnRequestSchema>;

const ATTEMPT_TIMEOUT_MS = 2_000;
const ANSWER_WITHIN_MS = 10_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** By then a call that was given up has either committed or never will. */
const ABANDONED_AFTER_MS = 12_000;
/** While the conversation service is away every visitor abandons a turn; those beyond are left to the sweeper. */
const MAX_ABANDONED = 1_000;

export type TurnCloser = {
  /** Stores an outcome and resolves with the one that stands; undefined when nobody answered within 10 s. */
  close(request: CloseTurnInit): Promise<CloseTurnResponse | undefined>;
  /** Sees to a turn of which nobody knows whether it was opened: if it was, it is closed as an error soon. */
  abandon(turn: CloseTurnInit): void;
  /** Adds to a turn that is closed already where its time went; nobody waits for it, and lost it is no harm. */
  note(request: CloseTurnInit): void;
  /** Resolves when no outcome is left untold, or after `timeoutMs`. */
  settled(timeoutMs: number): Promise<void>;
};

/**
 * Closes turns and does not give up: the visitor's leaving never cancels it, and an outcome that could not be told within 10 s goes
 * on being told as an error, until it is answered or this process ends and its lease with it.
 */
export function createTurnCloser(conversation: RpcClient<typeof ConversationService>, log: Logger): TurnCloser {
  const untold = new Set<Promise<unknown>>();

  /** Undefined when the time is up or asking again cannot help. */
  async function tell(request: CloseTurnInit, untilMs: number): Promise<CloseTurnResponse | undefined> {
    let pauseMs = FIRST_PAUSE_MS;
    while (performance.now() < untilMs) {
      try {
        return await conversation.closeTurn(request, { timeoutMs: ATTEMPT_TIMEOUT_MS });
      } catch (error) {
        if (isFinal(error)) {
          log.info({ turn_id: request.turnId, error }, "outcome not wanted");
          return undefined;
        }
        log.warn({ turn_id: request.turnId, error }, "outcome not told yet");
        await sleep(pauseMs);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
    }
    return undefined;
  }

  function tracked(answer: Promise<CloseTurnResponse | undefined>): Promise<CloseTurnResponse | undefined> {
    untold.add(answer);
    return answer.finally(() => untold.delete(answer));
  }

  let abandoned = 0;
  async function closeAbandoned(turn: CloseTurnInit): Promise<undefined> {
    await sleep(ABANDONED_AFTER_MS, undefined, { ref: false });
    const failed = { ...turn, outcome: OUTCOMES.error.proto, errorCode: "internal_error" };
    await tell(failed, performance.now() + ANSWER_WITHIN_MS);
    abandoned--;
  }

  return {
    abandon(turn) {
      if (abandoned >= MAX_ABANDONED) return;
      abandoned++;
      void closeAbandoned(turn);
    },
    note(request) {
      void tracked(tell(request, performance.now() + ATTEMPT_TIMEOUT_MS));
    },
    async close(request) {
      const stands = await tracked(tell(request, performance.now() + ANSWER_WITHIN_MS));
      if (stands === undefined) {
        const failed = { ...request, outcome: OUTCOMES.error.proto, errorCode: "internal_error" };
        void tracked(tell(failed, Number.POSITIVE_INFINITY));
      }
      return stands;
    },
    async settled(timeoutMs) {
      await Promise.race([Promise.allSettled([...untold]), sleep(timeoutMs, undefined, { ref: false })]);
    },
  };
}

/** Whether asking again cannot help: the turn was never opened, or the request itself is refused. */
function isFinal(error: unknown): boolean {
  return error instanceof RpcError && (error.status === status.NOT_FOUND || error.status === status.INVALID_ARGUMENT);
}
