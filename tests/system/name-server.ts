import { createSocket } from "node:dgram";
import { once } from "node:events";

export type NameServer = {
  port: number;
  /** The addresses of every name from now on. */
  tell(...addresses: string[]): void;
  close(): Promise<void>;
};

const TYPE_A = 1;
const IS_ANSWER = 0x8180;
const HEADER_BYTES = 12;

/** Answers every question for an address with those it was told, and every other question with nothing. */
export async function startNameServer(): Promise<NameServer> {
  let told: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => socket.send(answer(query, told), from.port, from.address));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    port: socket.address().port,
    tell: (...addresses) => {
      told = addresses;
    },
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** RFC 1035: the query's header turned into an answer's, its question, and a record of 5 seconds for each address. */
function answer(query: Buffer, addresses: readonly string[]): Buffer {
  const endOfName = query.indexOf(0, HEADER_BYTES);
  const question = query.subarray(HEADER_BYTES, endOfName + 5);
  const records = query.readUInt16BE(endOfName + 1) === TYPE_A ? addresses.map(addressRecord) : [];
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(IS_ANSWER, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question, ...records]);
}

function addressRecord(address: string): Buffer {
  return Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 5, 0, 4, ...address.split(".").map(Number)]);
}
