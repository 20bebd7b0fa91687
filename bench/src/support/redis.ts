import { once } from "node:events";
import { connect } from "node:net";

/** What a Redis server says of itself, by INFO's names; the number of `keys` too. */
export async function redisInfo(url: string): Promise<(name: string) => number> {
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
