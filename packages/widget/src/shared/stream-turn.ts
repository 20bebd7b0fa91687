import { Failure } from "./failure.ts";
import { type ServerEvent, sseParser } from "./sse.ts";

/** The service sends a sign of life every 15 s; three missed ones mean that nobody is there any more. */
const SILENCE_MS = 45_000;

const LEAVING_MS = 250;

const CLOSING_MS = 2_000;

/** A turn to ask for. */
export interface TurnRequest {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly signal: AbortSignal;
  onEvent(name: string, data: Record<string, unknown>): void;
}

/**
 * Posts a message and calls back for each event of the reply, in order, `done` last. Throws a Failure when the service
 * refuses, cannot be reached, falls silent, or ends without `done`; and the signal's reason when that was aborted.
 */
export async function streamTurn(request: TurnRequest): Promise<void> {
  const connection = new AbortController();
  const signal = AbortSignal.any([request.signal, connection.signal]);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => connection.abort(), SILENCE_MS);
  };
  let done = false;
  const parse = sseParser(({ name, data }: ServerEvent) => {
    done ||= name === "done";
    request.onEvent(name, JSON.parse(data) as Record<string, unknown>);
  });
  alive();
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
    for (let ended = false; !(done || ended); ) {
      const part = await reader.read();
      alive();
      parse(part.value ?? "");
      ended = part.done;
    }
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof Failure) {
      throw error;
    }
    // A page that is leaving has its requests cut first: by the time this goes on it has left, and kept what it had.
    await new Promise((resolve) => setTimeout(resolve, LEAVING_MS));
    throw new Failure(navigator.onLine ? "network" : "offline");
  } finally {
    clearTimeout(timer);
    // After its last event the service closes the stream, and the connection can serve the next turn; nothing else may linger.
    setTimeout(() => connection.abort(), done ? CLOSING_MS : 0);
  }
  if (!done) {
    throw new Failure("interrupted");
  }
}
