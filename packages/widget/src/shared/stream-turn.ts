import { anySignal } from "./any-signal.ts";
import { Failure, REQUEST_ID_HEADER } from "./failure.ts";
import { pause } from "./pause.ts";
import { createSseParser } from "./sse.ts";

/** Three heartbeats of the service, which sends one every 15 s. */
const SILENCE_TIMEOUT_MS = 45_000;

/** The waits before reconnecting: 0.5 s, 1 s, 2 s, up to 16 s. Each `token` event resets the wait and the number of reconnections. */
const FIRST_WAIT_MS = 500;
const MAX_RECONNECTIONS = 6;

/** How long the service may take to close the stream after `done`. */
const CLOSE_TIMEOUT_MS = 2_000;

export interface TurnRequest {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** The idempotency key. A request that is repeated with the same key receives the same reply. */
  readonly key: string;
  readonly signal: AbortSignal;
  /**
   * Receives each event, except the `meta` of a resumed reply. After `meta`, the reply's text starts from the beginning. `requestId` is the id of
   * the request that opened the turn.
   */
  onEvent(name: string, data: Record<string, unknown>, requestId: string): void;
}

/**
 * Posts a message and calls `onEvent` for each event of the reply, in order, `done` last. Continues the reply after a
 * lost connection. Throws the signal's reason if the signal is aborted. Throws a Failure if the service returns an error,
 * the browser is offline or the connection is lost too often.
 */
export async function streamTurn(request: TurnRequest): Promise<void> {
  let lastEventId = "";
  for (let reconnections = 0; ; reconnections++) {
    try {
      return await receive(request, lastEventId, (id, isText) => {
        lastEventId = id;
        if (isText) {
          reconnections = 0;
        }
      });
    } catch (error) {
      request.signal.throwIfAborted();
      const { code } = error as Failure;
      if (lastEventId && code === "invalid_last_event_id") {
        lastEventId = "";
      } else if (!canReconnect(code, lastEventId) || reconnections >= MAX_RECONNECTIONS) {
        throw error;
      }
      await pause(FIRST_WAIT_MS * 2 ** reconnections, request.signal);
    }
  }
}

/** If the service returns `unavailable` before the first event, does not reconnect: the visitor gets a button to try again. */
function canReconnect(code: string, lastEventId: string): boolean {
  return /^(network|interrupted)$/.test(code) || (lastEventId !== "" && code === "unavailable");
}

/** Sends one request and reads its response until `done`. Calls `onProgress` after each event. */
async function receive(
  request: TurnRequest,
  lastEventId: string,
  onProgress: (id: string, isText: boolean) => void,
): Promise<void> {
  const connection = new AbortController();
  const signal = anySignal(request.signal, connection.signal);
  let silenceTimer: ReturnType<typeof setTimeout> | undefined;
  const restartSilenceTimer = () => {
    clearTimeout(silenceTimer);
    silenceTimer = setTimeout(() => connection.abort(), SILENCE_TIMEOUT_MS);
  };
  let isDone = false;
  let requestId = "";
  const parse = createSseParser(({ name, data, id }) => {
    isDone ||= name === "done";
    const fields = JSON.parse(data) as Record<string, unknown>;
    if (name !== "meta" || !lastEventId) {
      request.onEvent(name, fields, requestId);
    }
    onProgress(id, name === "token");
  });
  restartSilenceTimer();
  try {
    const response = await fetch(request.url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "Idempotency-Key": request.key,
        ...(lastEventId && { "Last-Event-ID": lastEventId }),
        ...request.headers,
      },
      body: JSON.stringify(request.body),
      credentials: "omit",
      signal,
    });
    if (!response.ok || !response.body) {
      throw await Failure.from(response);
    }
    requestId = response.headers.get(REQUEST_ID_HEADER) ?? "";
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let hasEnded = false; !(isDone || hasEnded); ) {
      const part = await reader.read();
      restartSilenceTimer();
      parse(part.value ?? "");
      hasEnded = part.done;
    }
  } catch (error) {
    throw error instanceof Failure ? error : new Failure(navigator.onLine ? "network" : "offline");
  } finally {
    clearTimeout(silenceTimer);
    // If the service closes the stream after `done`, the browser can reuse the connection.
    setTimeout(() => connection.abort(), isDone ? CLOSE_TIMEOUT_MS : 0);
  }
  if (!isDone) {
    throw new Failure("interrupted");
  }
}
