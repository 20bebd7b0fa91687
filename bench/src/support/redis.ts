import { once } from "node:events";
import { connect } from "node:net";

/** Reads a Redis server's INFO. Returns a function that looks up a numeric field, such as `used_memory`, and returns 0 if it is missing. */
export async function readRedisInfo(url: string): Promise<(name: string) => number> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  socket.end("INFO\r\n");
  await once(socket, "close");
  return (name) => Number(new RegExp(`\\b${name}[:=]([\\d.]+)`).exec(text)?.[1] ?? 0);
}
