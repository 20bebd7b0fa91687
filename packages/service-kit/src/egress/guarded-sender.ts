import { request } from "undici";
import { createGuardedAgent, type GuardedAgentOptions } from "./agent.ts";
import { EgressError } from "./error.ts";
import { findEgressError, parseUrl } from "./guarded-fetch.ts";
import type { Egress } from "./policy.ts";

export type SendOptions = {
  headers: Record<string, string>;
  body: string;
  /** Limits the whole request, including DNS and the body. */
  timeoutMs: number;
  /** The response's bytes after this many are not read. */
  maxBytes: number;
};

export type SentResponse = {
  status: number;
  /** By lower-case name. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The beginning of the body. */
  body: Buffer;
};

export type GuardedSender = {
  /**
   * Posts to an http or https URL that a user entered, at permitted addresses only (see createGuardedAgent). Follows no redirect. Throws EgressError.
   * Does not throw for an HTTP error status.
   */
  post(url: string, options: SendOptions): Promise<SentResponse>;
  close(): Promise<void>;
};

/** Unlike guardedFetch, keeps the connections open between requests, for many requests to the same URLs. */
export function createGuardedSender(egress: Egress, options: GuardedAgentOptions = {}): GuardedSender {
  const dispatcher = createGuardedAgent(egress, options);
  return {
    async post(url, { headers, body, timeoutMs, maxBytes }) {
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        const response = await request(parseUrl(url), { dispatcher, method: "POST", headers, body, signal });
        const { statusCode: status, headers: responseHeaders } = response;
        return { status, headers: responseHeaders, body: await readBeginning(response.body, maxBytes) };
      } catch (error) {
        if (signal.aborted)
          throw new EgressError("timeout", `no complete response within ${timeoutMs} ms`, { cause: error });
        throw findEgressError(error);
      }
    },
    close: () => dispatcher.destroy(),
  };
}

/** Leaving the loop early closes the connection. */
async function readBeginning(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}
