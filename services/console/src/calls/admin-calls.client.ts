import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { CODE_METADATA_KEY } from "@parley/rpc/code";
import type { AdminService } from "./allowed-methods.ts";

/** A Connect call: its method, and its message in the encoding of `contentType`. */
export type AdminCall = {
  service: AdminService;
  method: string;
  contentType: string;
  body: Buffer;
  authorization: string;
  signal: AbortSignal;
};

/** The response of an admin service, unchanged. `code` is its stable error code. */
export type AdminResponse<Body = Buffer> = {
  status: number;
  contentType: string;
  code: string | undefined;
  body: Body;
};

export type AdminCalls = {
  /** Sends a unary call. */
  call: (call: AdminCall) => Promise<AdminResponse>;
  /** Sends a call with a stream of responses. */
  stream: (call: AdminCall) => Promise<AdminResponse<Buffer | Readable>>;
};

/**
 * Longer than calls usually take. AddSource may exceed it: fetching a URL may take 20 s, and reading the document up to 60 s on a busy machine.
 */
const TIMEOUT_MS = 60_000;
/** Long enough for a slow reader of a transcript. */
const STREAM_TIMEOUT_MS = 10 * 60_000;
const CONNECT_UNAVAILABLE = { code: "unavailable", message: "the service did not answer" };

/** Creates a client of the admin services. If a service does not respond, returns the Connect error `unavailable`. */
export function createAdminCalls(
  urls: Readonly<Record<AdminService, string>>,
  onResponse: (method: string, status: number) => void,
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
      onResponse(method, response.status);
      return {
        status: response.status,
        contentType: response.headers.get("content-type") ?? "application/json",
        code: response.headers.get(CODE_METADATA_KEY) ?? undefined,
        body: await readBody(response),
      };
    } catch (cause) {
      if (signal.aborted) throw cause;
      onResponse(method, 503);
      const json = Buffer.from(JSON.stringify(CONNECT_UNAVAILABLE));
      return { status: 503, contentType: "application/json", code: "unavailable", body: json };
    }
  };
  return {
    call: (call) => send(call, TIMEOUT_MS, async (response) => Buffer.from(await response.arrayBuffer())),
    stream: (call) => send(call, STREAM_TIMEOUT_MS, async ({ body }) => Readable.fromWeb(body as ReadableStream)),
  };
}

function withSlash(url: string): string {
  return url.endsWith("/") ? url : `${url}/`;
}
