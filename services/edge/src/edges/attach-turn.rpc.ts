import type { MessageInitShape } from "@bufbuild/protobuf";
import { RpcError, status } from "@parley/rpc";
import type { AttachTurnRequest, AttachTurnResponseSchema } from "@parley/rpc/edge";
import { OUTCOMES } from "@parley/rpc/outcomes";
import { type KeyedReply, type ReplyReader, splitsSurrogatePair, type TurnEnding } from "../turns/index.ts";
import { type EdgeCallDeps, requireTurn } from "./require-turn.service.ts";

type Response = MessageInitShape<typeof AttachTurnResponseSchema>;

/** Streams the reply of a running turn to another edge. */
export async function* handleAttachTurn(
  deps: EdgeCallDeps,
  request: AttachTurnRequest,
  signal: AbortSignal,
): AsyncGenerator<Response> {
  const { reply } = await requireTurn(deps, request);
  if (reply === undefined) throw new RpcError(status.NOT_FOUND, "turn_not_found", "the turn has no idempotency key");
  const { offset } = request;
  if (offset < 0 || offset > reply.text.length || splitsSurrogatePair(reply.text, offset))
    throw new RpcError(status.INVALID_ARGUMENT, "invalid_last_event_id", "the text has no such offset");
  if (reply.isFull) throw new RpcError(status.RESOURCE_EXHAUSTED, "overloaded", "the turn has too many readers");
  yield* readReply(reply, offset, signal);
}

/**
 * Attaches a reader to a reply. Yields an empty response, and then the reply's text and end. While the consumer processes a response, the
 * reply collects new text for the next one.
 */
async function* readReply(reply: KeyedReply, offset: number, signal: AbortSignal): AsyncGenerator<Response> {
  let next: Response | undefined;
  let isOutcomeUnknown: boolean = false;
  let onSent: () => void = () => undefined;
  let wake: () => void = () => undefined;
  const put = (response: Response) => {
    next = response;
    wake();
  };
  const reader: ReplyReader = {
    token(text) {
      put({ text });
      return new Promise((resolve) => {
        onSent = resolve;
      });
    },
    end: (ending) => put({ end: toTurnEnd(ending) }),
    disconnect() {
      isOutcomeUnknown = true;
      wake();
    },
  };
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort);
  try {
    // Attaches before the first yield. Otherwise calls that arrive together would all find the reply not yet full.
    reply.attach(reader, offset, false);
    yield {};
    while (!signal.aborted) {
      if (isOutcomeUnknown)
        throw new RpcError(status.UNAVAILABLE, "unavailable", "it is unknown whether an outcome is stored");
      const response: Response | undefined = next;
      if (response === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      next = undefined;
      yield response;
      if (response.end !== undefined) return;
      onSent();
      // In a microtask, the reply gives the reader the text that arrived meanwhile. Let that microtask run first.
      await Promise.resolve();
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    reply.detach(reader);
  }
}

function toTurnEnd({ outcome, ...ending }: TurnEnding): NonNullable<Response["end"]> {
  const { blocked, quota, sources = [], handoff, errorCode, model, tokensIn, tokensOut, latencyMs } = ending;
  return {
    outcome: OUTCOMES[outcome].proto,
    errorCode,
    ...(blocked && { blocked }),
    ...(quota && { quota }),
    sources: [...sources],
    ...(handoff && { handoff }),
    model,
    tokensIn,
    tokensOut,
    latencyMs,
  };
}
