import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { OnRefusal } from "./errors.plugin.ts";
import { NO_ROUTE } from "./http-metrics.plugin.ts";
import { SECURITY_HEADERS } from "./security-headers.plugin.ts";

/** Answers what Node's parser gives up on before there is a request, in the words of every other refusal. */
export function answerUnparsable(onRefusal: OnRefusal) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === "ECONNRESET" || socket.destroyed) return;
    const [status, code] = refusalOf(error.code);
    // Amid an answer a second one would be read as a part of it.
    const answering = (socket as Socket & { _httpMessage?: { headersSent: boolean } | null })._httpMessage?.headersSent;
    if (socket.writable && !answering) {
      onRefusal(code, NO_ROUTE);
      socket.write(answerOf(status, code));
    }
    socket.destroySoon();
  };
}

function answerOf(status: number, name: string): string {
  const body = JSON.stringify({ error: name });
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

function refusalOf(code: string | undefined): [status: number, name: string] {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "request_timeout"];
    case "HPE_HEADER_OVERFLOW":
      return [431, "headers_too_large"];
    default:
      return [400, "bad_request"];
  }
}
