import { anySignal } from "../shared/any-signal.ts";
import { Failure } from "../shared/failure.ts";
import { pause } from "../shared/pause.ts";
import { createSseParser } from "../shared/sse.ts";

/** Three heartbeats of the service, which sends one every 15 s. */
const SILENCE_TIMEOUT_MS = 45_000;
/**
 * The waits before reconnecting: about 0.5 s, 1 s, 2 s, up to 16 s. A connection that lasts longer than that resets them, and not its first event: a
 * proxy may cut each connection soon, and the requests count against the same rate limit as the visitor's messages.
 */
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 16_000;

/** Matches the statuses after which the same request would be refused again. */
const REFUSED = /^(4(?!29)\d\d)$/;

export interface FollowRequest {
  readonly url: string;
  /** The id of the last message that the client has. */
  readonly after: number;
  readonly signal: AbortSignal;
  /** Called for each connection: the visitor's token may have expired. */
  headers(): Promise<Readonly<Record<string, string>>>;
  /** Receives each event. Returns whether to follow on. */
  onEvent(name: string, data: Record<string, unknown>): boolean;
  /** Called when the connection was lost and is tried again. */
  onLost(): void;
}

/**
 * Reads the live stream until `onEvent` returns false or the signal is aborted. Connects again whenever the stream ends, after the last message that it
 * has received. Throws a Failure if the service refuses the request.
 */
export async function follow(request: FollowRequest): Promise<void> {
  const { signal } = request;
  let lastId = String(request.after);
  let isFollowing = true;
  let hasNewToken = false;
  for (let failures = 0; isFollowing && !signal.aborted; ) {
    let retryAfterMs = 0;
    const startedAt = Date.now();
    try {
      await receive(request, lastId, (name, data, id) => {
        hasNewToken = false;
        lastId = id || lastId;
        isFollowing &&= request.onEvent(name, data);
        return isFollowing;
      });
    } catch (error) {
      const { code, status, retryAfterSeconds } = error as Failure & { status?: number };
      const isExpired: boolean = code === "invalid_visitor_token" && !hasNewToken;
      hasNewToken ||= isExpired;
      if (REFUSED.test(String(status)) && !isExpired) {
        throw error;
      }
      retryAfterMs = retryAfterSeconds * 1_000;
    }
    if (isFollowing && !signal.aborted) {
      request.onLost();
      failures = Date.now() - startedAt > MAX_WAIT_MS ? 0 : failures;
      const waitMs = Math.min(FIRST_WAIT_MS * 2 ** failures++, MAX_WAIT_MS) * (0.75 + Math.random() / 2);
      await pauseUntilOnline(Math.max(waitMs, retryAfterMs || 0), signal);
    }
  }
}

/** Waits, but not longer than until the browser is online again. */
async function pauseUntilOnline(ms: number, signal: AbortSignal): Promise<void> {
  const online = new AbortController();
  addEventListener("online", () => online.abort(), { signal: anySignal(signal, online.signal) });
  await pause(ms, anySignal(signal, online.signal));
  online.abort();
}

/** Reads one connection until its end, or until `onEvent` returns false. */
async function receive(
  { url, signal, headers }: FollowRequest,
  lastId: string,
  onEvent: (name: string, data: Record<string, unknown>, id: string) => boolean,
): Promise<void> {
  const connection = new AbortController();
  let silenceTimer: ReturnType<typeof setTimeout> | undefined;
  const restartSilenceTimer = () => {
    clearTimeout(silenceTimer);
    silenceTimer = setTimeout(() => connection.abort(), SILENCE_TIMEOUT_MS);
  };
  let isWanted = true;
  const parse = createSseParser(({ name, data, id }) => {
    isWanted &&= onEvent(name, JSON.parse(data) as Record<string, unknown>, id);
  });
  restartSilenceTimer();
  try {
    const response = await fetch(url, {
      headers: { ...(await headers()), "Last-Event-ID": lastId },
      credentials: "omit",
      signal: anySignal(signal, connection.signal),
    });
    if (!response.ok || !response.body) {
      throw Object.assign(await Failure.from(response), { status: response.status });
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let hasEnded = false; isWanted && !hasEnded; ) {
      const part = await reader.read();
      restartSilenceTimer();
      parse(part.value ?? "");
      hasEnded = part.done;
    }
  } finally {
    clearTimeout(silenceTimer);
    connection.abort();
  }
}
