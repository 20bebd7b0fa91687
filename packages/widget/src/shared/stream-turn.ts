import { Failure } from "./failure.ts";
import { sseParser } from "./sse.ts";

/** The service sends a heartbeat every 15 s. After three missed ones the connection counts as lost. */
const SILENCE_TIMEOUT_MS = 45_000;

/** Longer than a page keeps running while it is being unloaded. */
const UNLOAD_GRACE_MS = 250;

/** How long the service may take to close the stream after `done`. */
const CLOSE_TIMEOUT_MS = 2_000;

/** A turn to request. */
export interface TurnRequest {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly signal: AbortSignal;
  onEvent(name: string, data: Record<string, unknown>): void;
}

/**
 * Posts a message and calls `onEvent` for each event of the reply, in order, `done` last. Throws the signal's reason
 * when the signal is aborted. Throws a Failure when the service returns an error, cannot be reached, sends nothing for
 * 45 s, or ends the stream without `done`.
 */
export async function streamTurn(request: TurnRequest): Promise<void> {
  const connection = new AbortController();
  const signal = AbortSignal.any([request.signal, connection.signal]);
  let silenceTimer: ReturnType<typeof setTimeout> | undefined;
  const restartSilenceTimer = () => {
    clearTimeout(silenceTimer);
    silenceTimer = setTimeout(() => connection.abort(), SILENCE_TIMEOUT_MS);
  };
  let isDone = false;
  const parse = sseParser(({ name, data }) => {
    isDone ||= name === "done";
    request.onEvent(name, JSON.parse(data) as Record<string, unknown>);
  });
  restartSilenceTimer();
  try {
    const response = await fetch(request.url, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...request.headers },
      body: JSON.stringify(request.body),
      credentials: "omit",
      signal,
    });
    if (!response.ok || !response.body) {
      throw await Failure.of(response);
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let hasEnded = false; !(isDone || hasEnded); ) {
      const part = await reader.read();
      restartSilenceTimer();
      parse(part.value ?? "");
      hasEnded = part.done;
    }
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof Failure) {
      throw error;
    }
    // The browser aborts the requests of a page that is being unloaded. The page has saved the partial reply and must
    // not show an error, so wait until it is gone.
    await new Promise((resolve) => setTimeout(resolve, UNLOAD_GRACE_MS));
    throw new Failure(navigator.onLine ? "network" : "offline");
  } finally {
    clearTimeout(silenceTimer);
    // After `done` the service closes the stream, and the connection can be reused. Otherwise close it at once.
    setTimeout(() => connection.abort(), isDone ? CLOSE_TIMEOUT_MS : 0);
  }
  if (!isDone) {
    throw new Failure("interrupted");
  }
}
