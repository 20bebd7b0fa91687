import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { CODE_METADATA_KEY } from "@parley/rpc/code";
import { KnowledgeAdminService, SessionAdminService } from "@parley/rpc/conversation";
import type { TargetService } from "./allowed-methods.ts";

/** A Connect call. `method` is a full name (see ALLOWED_METHODS). `body` is the request in the encoding of `contentType`. */
export type AdminCall = {
  service: TargetService;
  method: string;
  contentType: string;
  body: Buffer;
  authorization: string;
  signal: AbortSignal;
};

/** The unchanged response of an admin service, or the 503 of a failed call. */
export type AdminResponse<Body = Buffer> = {
  status: number;
  contentType: string;
  /** Parley's error code, if the response has one. */
  code: string | undefined;
  body: Body;
};

export type AdminCalls = {
  /** Sends a unary call. */
  call: (call: AdminCall) => Promise<AdminResponse>;
  /** Sends a server-streaming call. */
  stream: (call: AdminCall) => Promise<AdminResponse<Buffer | Readable>>;
};

/** How long the client waits for each kind of call. */
export const CALL_TIMEOUTS_MS = {
  /** Longer than every unary call except AddSource and EraseSession. */
  call: 60_000,
  /**
   * AddSource takes at most 140 s: 20 s to wait for other uploads or to fetch a URL, 60 s in the queue for documents, and 60 s to read the
   * document. If EraseSession takes longer than 150 s, the service completes the erasure without the client.
   */
  slowCall: 150_000,
  /** Long enough for a client that reads a transcript slowly. */
  stream: 10 * 60_000,
};
const SLOW_CALLS = new Set(
  [KnowledgeAdminService.method.addSource, SessionAdminService.method.eraseSession].map(
    ({ parent, name }) => `${parent.typeName}/${name}`,
  ),
);
const CONNECT_UNAVAILABLE = { code: "unavailable", message: "the service did not answer" };

/** Creates a client of the admin services. If a service does not respond, a call resolves to a 503 with Connect's code `unavailable`. */
export function createAdminCalls(
  urls: Readonly<Record<TargetService, string>>,
  onResponse: (method: string, status: number) => void,
  callTimeoutsMs = CALL_TIMEOUTS_MS,
): AdminCalls {
  const send = async <Body>(
    { service, method, contentType, body, authorization, signal }: AdminCall,
    timeoutMs: number,
    readBody: (response: Response) => Promise<Body>,
  ): Promise<AdminResponse<Body | Buffer>> => {
    try {
      const response = await fetch(new URL(method, withSlash(urls[service])), {
        method: "POST",
        headers: { "content-type": contentType, "connect-protocol-version": "1", authorization },
        body: body as Uint8Array<ArrayBuffer>,
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        redirect: "error",
      });
      const responseBody = await readBody(response);
      onResponse(method, response.status);
      return {
        status: response.status,
        contentType: response.headers.get("content-type") ?? "application/json",
        code: response.headers.get(CODE_METADATA_KEY) ?? undefined,
        body: responseBody,
      };
    } catch (cause) {
      if (signal.aborted) throw cause;
      onResponse(method, 503);
      const json = Buffer.from(JSON.stringify(CONNECT_UNAVAILABLE));
      return { status: 503, contentType: "application/json", code: "unavailable", body: json };
    }
  };
  return {
    call: (call) => {
      const timeoutMs = SLOW_CALLS.has(call.method) ? callTimeoutsMs.slowCall : callTimeoutsMs.call;
      return send(call, timeoutMs, async (response) => Buffer.from(await response.arrayBuffer()));
    },
    stream: (call) => send(call, callTimeoutsMs.stream, async ({ body }) => Readable.fromWeb(body as ReadableStream)),
  };
}

function withSlash(url: string): string {
  return url.endsWith("/") ? url : `${url}/`;
}
