import { type Dispatcher, fetch, type HeadersInit, type Response } from "undici";
import { createGuardedAgent, type Resolve } from "./agent.ts";
import { EgressError, unreachableError } from "./error.ts";
import type { Egress } from "./policy.ts";

export type GuardedFetchOptions = {
  egress: Egress;
  /** Limits the whole request, including DNS, redirects and the body. */
  timeoutMs: number;
  /** Limits the body, after decompression. */
  maxBytes: number;
  /** Default 0. For methods other than GET and HEAD, every redirect is an error. */
  maxRedirects?: number;
  signal?: AbortSignal;
  method?: string;
  /** Not sent to another origin after a redirect. */
  headers?: HeadersInit;
  body?: string;
  /** Called with the head of the last response before its body is read. May throw to refuse the response. */
  onHead?: (head: ResponseHead) => void;
  /** Called with the target of each redirect before it is requested. May throw to end the request. */
  onRedirect?: (url: string, status: number) => void;
  /** Called with the size of each part of the body that was read, after decompression. May throw to end the request. */
  onBytes?: (bytes: number) => void;
  /** Resolves host names. Default: the system's resolver. */
  resolve?: Resolve;
};

export type ResponseHead = {
  status: number;
  headers: Response["headers"];
  /** The URL after the last redirect. */
  url: string;
};

export type GuardedResponse = ResponseHead & { body: Uint8Array<ArrayBuffer> };

/**
 * Fetches an http or https URL that a user entered, from permitted addresses only (see createGuardedAgent). Checks each redirect like the
 * first URL. Throws EgressError, the reason of `signal`, or the error of `onHead`, `onRedirect` or
 * `onBytes`, which must not be a TypeError. Does not throw for an HTTP error status.
 */
export async function guardedFetch(url: string, options: GuardedFetchOptions): Promise<GuardedResponse> {
  const { egress, timeoutMs, signal } = options;
  const deadline = AbortSignal.timeout(timeoutMs);
  // One agent per request, so that no connection is reused under another policy.
  const agent = createGuardedAgent(egress, {
    connectTimeoutMs: Math.min(timeoutMs, 10_000),
    ...(options.resolve && { resolve: options.resolve }),
  });
  try {
    return await fetchWithRedirects(url, options, agent, AbortSignal.any([deadline, ...(signal ? [signal] : [])]));
  } catch (error) {
    signal?.throwIfAborted();
    if (deadline.aborted)
      throw new EgressError("timeout", `no complete response within ${timeoutMs} ms`, { cause: error });
    throw toEgressError(error);
  } finally {
    await agent.destroy();
  }
}

async function fetchWithRedirects(
  firstUrl: string,
  options: GuardedFetchOptions,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<GuardedResponse> {
  const { method = "GET", maxRedirects = 0, headers, body } = options;
  const start = parseUrl(firstUrl);
  for (let url = start, redirects = 0; ; redirects++) {
    const response = await fetch(url, {
      dispatcher,
      method,
      redirect: "manual",
      signal,
      ...(headers && url.origin === start.origin && { headers }),
      ...(body !== undefined && { body }),
    });
    const location = isRedirect(response.status) ? response.headers.get("location") : null;
    if (location === null) return await readResponse(response, url, options);
    await response.body?.cancel();
    if (redirects === maxRedirects) throw new EgressError("too_many_redirects", redirectLimitMessage(maxRedirects));
    if (method !== "GET" && method !== "HEAD")
      throw new EgressError("too_many_redirects", `redirects of ${method} requests are not followed`);
    url = parseUrl(location, url);
    options.onRedirect?.(url.href, response.status);
  }
}

function redirectLimitMessage(maxRedirects: number): string {
  return maxRedirects === 0
    ? "the URL redirects, but redirects are not followed"
    : `more than ${maxRedirects} redirects`;
}

/** Throws EgressError unless the text is an http or https URL without a user name and a password. */
export function parseUrl(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base?.href) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol))
    throw new EgressError("url_refused", "the URL must begin with http:// or https://");
  if (url.username !== "" || url.password !== "")
    throw new EgressError("url_refused", "the URL must not contain a user name or password");
  return url;
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

async function readResponse(response: Response, url: URL, options: GuardedFetchOptions): Promise<GuardedResponse> {
  const head: ResponseHead = { status: response.status, headers: response.headers, url: url.href };
  const { maxBytes } = options;
  const tooLarge = () => new EgressError("too_large", `the response has more than ${maxBytes} bytes`);
  try {
    options.onHead?.(head);
    if (Number(response.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge();
  } catch (error) {
    await response.body?.cancel();
    throw error;
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early closes the connection.
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge();
    options.onBytes?.(chunk.byteLength);
  }
  return { ...head, body: new Uint8Array(Buffer.concat(chunks)) };
}

/** Returns the EgressError inside an error of fetch. A network error becomes `unreachable`. */
function toEgressError(error: unknown): unknown {
  // fetch reports failures as TypeError, so any other error comes from a callback and is returned as it is.
  return error instanceof TypeError ? findEgressError(error) : error;
}

/** Returns the EgressError among an error and its causes, or else an EgressError for an unreachable server. */
export function findEgressError(error: unknown): EgressError {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof EgressError) return cause;
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== undefined) return unreachableError(code, { cause: error });
  }
  return unreachableError("no connection", { cause: error });
}
