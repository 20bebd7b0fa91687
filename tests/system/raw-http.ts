import { connect, type Socket } from "node:net";

export type RawClient = {
  socket: Socket;
  text(): string;
  /** Resolves with all received text when the server closes or resets the connection. */
  closed: Promise<string>;
};

/** Opens a TCP connection, for requests that HTTP clients cannot send. With `reads: false`, never reads the responses. */
export function openConnection(port: number, { reads = true } = {}): RawClient {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let text = "";
  if (reads) socket.on("data", (chunk) => (text += chunk.toString("latin1")));
  // Ignores errors, because `close` follows every error.
  socket.on("error", () => undefined);
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
  return { socket, text: () => text, closed };
}

export function formatChatRequest(fields: object, headers: Record<string, string>): string {
  const body = JSON.stringify(fields);
  const all = { host: "parley.test", "content-length": String(Buffer.byteLength(body)), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /api/chat/ HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}
