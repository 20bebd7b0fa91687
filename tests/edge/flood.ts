import { connect, type Socket } from "node:net";

// Runs as a separate process. Sends bodies that are costly to parse or validate, on 16 connections. Each connection sends its next request
// when the response to the previous one arrives. Arguments: the edge's port, and "one" or "many" for the number of client addresses.

const CONNECTIONS = 16;
const FIELDS = '{"public_key":"svc_pk_x","session_id":"5f0c2d66-7f57-4b8e-8a51-0d6d3a3d9e01","message":';
/** Sizes in bytes: one below and one above the edge's body limit of 300 KiB. */
const SIZES = [290_000, 1_000_000];

/** Returns a chat request in JSON whose metadata contains a list of `items`. */
const requestWithList = (items: string) => `${FIELDS}"Hello?","visitor_metadata":{"a":[${items}]}}`;

const repeat = (text: string, bytes: number) => text.repeat(bytes / Buffer.byteLength(text));

const longKey = (key: number, bytes: number) => `"${String(key).padStart(bytes - 5, "x")}":0`;

const BODY_BUILDERS = [
  (bytes: number) => requestWithList(`${repeat("[", bytes / 2)}${repeat("]", bytes / 2)}`),
  (bytes: number) => requestWithList(`${repeat("[],", bytes)}0`),
  (bytes: number) => requestWithList(`${repeat('{"a":0},', bytes)}0`),
  (bytes: number) => requestWithList(`${repeat("1.7976931348623157e308,", bytes)}0`),
  (bytes: number) => requestWithList(`{${Array.from({ length: bytes / 10 }, (_, key) => `"${key}":0`).join(",")}}`),
  // At the smaller size, the next two bodies are within the edge's limit of 17 KiB of JSON outside strings, so the edge parses them. The first
  // consists of long keys, the second of lists and a long string.
  (bytes: number) =>
    requestWithList(`{${Array.from({ length: 3_400 }, (_, key) => longKey(key, bytes / 3_400)).join(",")}}`),
  (bytes: number) => requestWithList(`${repeat("[],", 15_000)}"${repeat("😀", bytes - 15_000)}"`),
  (bytes: number) => requestWithList(`"${repeat("😀", bytes)}"`),
  (bytes: number) => `${FIELDS}"${repeat("\\ud83d\\ude00", bytes)}"}`,
  (bytes: number) => repeat("[", bytes),
];
const BODIES = BODY_BUILDERS.flatMap((buildBody) => SIZES.map((bytes) => Buffer.from(buildBody(bytes))));

const [port, addresses] = process.argv.slice(2);
let sent = 0;

function nextAddress(): string {
  return addresses === "one" ? "198.51.100.1" : `10.${(sent >> 16) & 255}.${(sent >> 8) & 255}.${sent & 255}`;
}

function sendNext(socket: Socket): void {
  const body = BODIES[sent % BODIES.length] ?? Buffer.of();
  const head = [
    "POST /api/chat/ HTTP/1.1",
    "host: parley.test",
    "origin: https://shop.example",
    `x-forwarded-for: ${nextAddress()}`,
    `content-length: ${body.length}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  socket.write(body);
  sent++;
}

function openConnection(): void {
  const socket = connect({ port: Number(port), host: "127.0.0.1", noDelay: true });
  socket.on("connect", () => sendNext(socket));
  // A response is short, so it arrives in one chunk.
  socket.on("data", () => sendNext(socket));
  // Node emits `close` after every error.
  socket.on("error", () => undefined);
  socket.on("close", openConnection);
}

for (let connection = 0; connection < CONNECTIONS; connection++) openConnection();
console.log("flooding");
