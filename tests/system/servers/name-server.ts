import { createSocket } from "node:dgram";
import { once } from "node:events";

export type NameServer = {
  port: number;
  /** Sets the addresses that every name resolves to. */
  setAddresses(...addresses: string[]): void;
  close(): Promise<void>;
};

const TYPE_A = 1;
/** A response without an error, from a server that supports recursion. */
const RESPONSE_FLAGS = 0x8180;
const HEADER_BYTES = 12;

/** Starts a DNS server. It returns the current addresses for every A query, and no records for other queries. */
export async function startNameServer(): Promise<NameServer> {
  let current: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => socket.send(encodeResponse(query, current), from.port, from.address));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    port: socket.address().port,
    setAddresses: (...addresses) => {
      current = addresses;
    },
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** Encodes a response (RFC 1035): header, the query's question, and an A record with a TTL of 5 s for each address. */
function encodeResponse(query: Buffer, addresses: readonly string[]): Buffer {
  // The question is the name with its zero byte, a type and a class of two bytes each.
  const endOfName = query.indexOf(0, HEADER_BYTES);
  const question = query.subarray(HEADER_BYTES, endOfName + 5);
  const records = query.readUInt16BE(endOfName + 1) === TYPE_A ? addresses.map(addressRecord) : [];
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(RESPONSE_FLAGS, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question, ...records]);
}

/** Encodes a record: a pointer to the question's name, type A, class IN, a TTL of 5 s, and 4 bytes of address. */
function addressRecord(address: string): Buffer {
  return Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 5, 0, 4, ...address.split(".").map(Number)]);
}
