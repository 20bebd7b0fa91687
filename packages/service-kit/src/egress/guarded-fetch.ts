import { type Dispatcher, fetch, type HeadersInit, type Response } from "undici";
import { guardedAgent, type Resolve } from "./agent.ts";
import { EgressError } from "./error.ts";
import { EgressPolicy } from "./policy.ts";

export type GuardedFetchOptions = {
  /** CIDRs that are permitted beside the public addresses, or the policy made of them. */
  allow: readonly string[] | EgressPolicy;
  /** For everything together: names, redirects, the body. */
  timeoutMs: number;
  /** Of the body, after decompression. */
  maxBytes: number;
  /** None unless given. Only GET and HEAD are redirected; any other method's redirect is refused. */
  maxRedirects?: number;
  signal?: AbortSignal;
  method?: string;
  /** Sent to the origin of `url` only: a redirect to another takes none of them along. */
  headers?: HeadersInit;
  body?: string;
  /** Decides on the head of the last response, before its body is read, by throwing. */
  onHead?: (head: ResponseHead) => void;
  resolve?: Resolve;
};

export type ResponseHead = {
  status: number;
  headers: Response["headers"];
  /** Where the last redirect led. */
  url: string;
};

export type GuardedResponse = ResponseHead & { body: Uint8Array<ArrayBuffer> };

/**
 * Fetches a URL that somebody typed in: http or https, to permitted addresses only (see guardedAgent), each redirect checked like the
 * first address, within a time and a size. Throws EgressError, or what `signal` was aborted with; an HTTP status is no error.
 */
export async function guardedFetch(url: string, options: GuardedFetchOptions): Promise<GuardedResponse> {
  const { allow, timeoutMs, signal } = options;
  const policy = allow instanceof EgressPolicy ? allow : new EgressPolicy(allow);
  const deadline = AbortSignal.timeout(timeoutMs);
  // A connection of its own: none is kept for whoever asks next.
  const agent = guardedAgent(policy, {
    connectTimeoutMs: Math.min(timeoutMs, 10_000),
    ...(options.resolve && { resolve: options.resolve }),
  });
  try {
    return await follow(url, options, agent, AbortSignal.any([deadline, ...(signal ? [signal] : [])]));
  } catch (error) {
    signal?.throwIfAborted();
    if (deadline.aborted) throw new EgressError("timeout", `no answer within ${timeoutMs} ms`, { cause: error });
    throw egressErrorOf(error);
  } finally {
    await agent.destroy();
  }
}

async function follow(
  first: string,
  options: GuardedFetchOptions,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<GuardedResponse> {
  const { method = "GET", maxRedirects = 0, headers, body } = options;
  const start = readUrl(first);
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
    if (location === null) return await read(response, url, options);
    await response.body?.cancel();
    if (redirects === maxRedirects) throw new EgressError("too_many_redirects", tooMany(maxRedirects));
    if (method !== "GET" && method !== "HEAD")
      throw new EgressError("too_many_redirects", `a redirect of a ${method} request is not followed`);
    url = readUrl(location, url);
  }
}

function tooMany(maxRedirects: number): string {
  return maxRedirects === 0 ? "redirects are not followed here" : `more than ${maxRedirects} redirects`;
}

function readUrl(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base?.href) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol))
    throw new EgressError("url_refused", "only URLs that begin with http:// or https:// can be fetched");
  if (url.username !== "" || url.password !== "")
    throw new EgressError("url_refused", "a URL must not hold a user name or password");
  return url;
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

async function read(response: Response, url: URL, options: GuardedFetchOptions): Promise<GuardedResponse> {
  const head: ResponseHead = { status: response.status, headers: response.headers, url: url.href };
  const { maxBytes } = options;
  const tooLarge = () => new EgressError("too_large", `the answer has more than ${maxBytes} bytes`);
  try {
    options.onHead?.(head);
    if (Number(response.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge();
  } catch (error) {
    await response.body?.cancel();
    throw error;
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early ends the connection.
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge();
  }
  return { ...head, body: new Uint8Array(Buffer.concat(chunks)) };
}

/** The EgressError inside what fetch throws; what failed on the network becomes `unreachable`, what `onHead` threw stays. */
function egressErrorOf(error: unknown): unknown {
  if (error instanceof EgressError) return error;
  // A fetch that failed is a TypeError; whatever else came was thrown on purpose.
  if (!(error instanceof TypeError)) return error;
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof EgressError) return cause;
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== undefined) return new EgressError("unreachable", `cannot be reached (${code})`, { cause: error });
  }
  return new EgressError("unreachable", "cannot be reached", { cause: error });
}
