import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { NO_ROUTE } from "../request.ts";
import type { OnRefusal } from "./errors.plugin.ts";
import { SECURITY_HEADERS } from "./security-headers.plugin.ts";

/** Returns a handler for requests that Node rejects before Fastify sees them. The handler responds in the format of all other refusals. */
export function createClientErrorHandler(onRefusal: OnRefusal) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === "ECONNRESET" || socket.destroyed) return;
    const [status, code] = refusalFor(error.code);
    // If a response has begun, the client would read a second one as its continuation.
    const hasBegunResponse = (socket as Socket & { _httpMessage?: { headersSent: boolean } | null })._httpMessage
      ?.headersSent;
    if (socket.writable && !hasBegunResponse) {
      onRefusal({ code, status, reason: "", route: NO_ROUTE });
      socket.write(rawResponse(status, code));
    }
    socket.destroySoon();
  };
}

function rawResponse(status: number, code: string): string {
  const body = JSON.stringify({ error: code });
  const headers = {
    "content-type": "application/json; charset=utf-8",
    "content-length": String(body.length),
    "cache-control": "no-store",
    connection: "close",
    ...SECURITY_HEADERS,
  };
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`;
}

function refusalFor(errorCode: string | undefined): [status: number, code: string] {
  switch (errorCode) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "request_timeout"];
    case "HPE_HEADER_OVERFLOW":
      return [431, "headers_too_large"];
    default:
      return [400, "bad_request"];
  }
}
