import { HttpError } from "../http/index.ts";
import { KeyedReply, runKeyedTurn } from "../turns/index.ts";
import {
  type Exchange,
  findTurnOfKey,
  type KeyedRequest,
  type KeyedStreamDeps,
  refuseAtLimit,
} from "./keyed-exchange.ts";
import { createMessageCounter } from "./message-counter.ts";
import { follow, streamExisting, streamRunning, toOpeningError, waitForOpening } from "./stream-existing-turn.ts";
import { type HttpContext, reportTurn } from "./stream-turn.ts";
import type { ReplyPosition } from "./turn-key.ts";

/**
 * Streams the reply to a request with an idempotency key. If the key is new, opens a turn; otherwise attaches to the key's turn or replays it.
 * Throws an HttpError if it fails before the response starts.
 */
export async function streamKeyedTurn(
  deps: KeyedStreamDeps,
  turn: KeyedRequest,
  position: ReplyPosition | undefined,
  context: HttpContext,
): Promise<void> {
  const { clientBucket, reply, hasIdentityKeys } = context;
  const stream = deps.streams.open(reply.raw, clientBucket);
  const checksVisitor = hasIdentityKeys && !turn.visitorVerified;
  const exchange: Exchange = { deps, turn, position, stream, response: reply, checksVisitor };
  const { runningTurns, unpaidReplies } = deps.turnDeps;
  let isReleasedByTurn = false;
  try {
    // If an opening is refused, the next of its waiting requests opens the turn, and the others wait for that one.
    for (let running = runningTurns.findReply(turn); running !== undefined; running = runningTurns.findReply(turn)) {
      if (await streamRunning(exchange, running)) return;
      if (stream.cancelSignal.aborted) throw new HttpError(499, "client_gone");
    }
    if (position !== undefined) return await streamExisting(exchange, await findTurnOfKey(exchange));
    // Awaits nothing between findReply and addReply, so that a process has one reply of a key.
    const refusal = unpaidReplies.findRefusal(turn.client, reply);
    if (refusal !== undefined) return await streamWithoutNewTurn(exchange, () => refusal);
    const keyedReply = new KeyedReply(turn, deps.detachedReplyMs, (result) =>
      deps.attachMetrics.detached.inc({ result }),
    );
    if (!runningTurns.addReply(turn, keyedReply))
      return await streamWithoutNewTurn(exchange, (cause) => refuseAtLimit(deps, cause));
    isReleasedByTurn = true;
    await streamNewTurn(exchange, keyedReply, context);
  } finally {
    if (!isReleasedByTurn) stream.release();
  }
}

/** Runs a new turn and streams its reply. The stream's slot stays occupied until the turn is closed, even if the first reader leaves. */
async function streamNewTurn(exchange: Exchange, reply: KeyedReply, context: HttpContext): Promise<void> {
  const { deps, turn, stream, response } = exchange;
  const { stopwatch } = context;
  const countMessage = createMessageCounter(deps, turn, context);
  runKeyedTurn(deps.turnDeps, turn, reply, { stopwatch, countMessage })
    .then(
      (report) => {
        if (report !== undefined) reportTurn(deps, report, { reply: response, stopwatch });
      },
      (error: unknown) => {
        // If OpenTurn failed, messageId is 0 and each reader's response reports the error.
        if (reply.messageId > 0) response.request.log.error({ error }, "turn with an idempotency key failed");
      },
    )
    .finally(() => stream.release());
  const opening = await waitForOpening(exchange, reply).catch((error: unknown) => {
    throw toOpeningError(exchange, error);
  });
  if (opening.isLocal) await follow(exchange, reply, true);
  else await streamExisting(exchange, opening.existing);
}

/**
 * For a session with too many running keyed turns, or a client with too many unpaid replies. Streams the key's turn, or throws the refusal if the
 * key is new.
 */
async function streamWithoutNewTurn(exchange: Exchange, refuse: (cause: HttpError) => HttpError): Promise<void> {
  const existing = await findTurnOfKey(exchange).catch((error: HttpError) => {
    throw error.status === 404 ? refuse(error) : error;
  });
  await streamExisting(exchange, existing);
}
