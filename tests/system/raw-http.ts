import { connect, type Socket } from "node:net";

export type RawClient = {
  socket: Socket;
  /** What has come so far. */
  text(): string;
  /** Resolves with all that came when the other side closes or resets. */
  closed: Promise<string>;
};

/** A connection that says what no HTTP client would, and reads only when it is told to. */
export function dial(port: number, { reads = true } = {}): RawClient {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let text = "";
  if (reads) socket.on("data", (chunk) => (text += chunk.toString("latin1")));
  // A reset is a way to close.
  socket.on("error", () => undefined);
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
  return { socket, text: () => text, closed };
}

/** A chat request as bytes. */
export function chatBytes(fields: object, headers: Record<string, string>): string {
  const body = JSON.stringify(fields);
  const all = { host: "parley.test", "content-length": String(Buffer.byteLength(body)), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /api/chat/ HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}
