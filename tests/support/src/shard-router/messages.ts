// The messages of PostgreSQL's protocol, version 3, that the router reads or writes itself. It forwards all others as they are.

export type Message = {
  /** One character, such as `Q`. */
  type: string;
  body: Buffer;
};

/** The codes that clients send in place of a protocol version. */
const SSL_REQUEST = 80_877_103;
const GSS_REQUEST = 80_877_104;
const CANCEL_REQUEST = 80_877_102;

export type CancelKey = { processId: number; secret: number };
export type FirstPacket =
  | { kind: "encryption" }
  | ({ kind: "cancel" } & CancelKey)
  | { kind: "startup"; parameters: Record<string, string> };

/** Splits a connection's bytes into messages. */
export class MessageReader {
  #buffer: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
  }

  /** Returns the next packet before the login, which has no type; undefined until it is complete. */
  nextPacket(): FirstPacket | undefined {
    const body = this.#take(0);
    if (body === undefined) return undefined;
    const code = body.readInt32BE(0);
    if (code === SSL_REQUEST || code === GSS_REQUEST) return { kind: "encryption" };
    if (code === CANCEL_REQUEST) return { kind: "cancel", processId: body.readInt32BE(4), secret: body.readInt32BE(8) };
    const texts = body.toString("utf8", 4).split("\0");
    const parameters: Record<string, string> = {};
    for (let index = 0; texts[index]; index += 2) parameters[texts[index] ?? ""] = texts[index + 1] ?? "";
    return { kind: "startup", parameters };
  }

  /** Returns the complete messages. */
  *messages(): Generator<Message> {
    while (this.#buffer.length > 0) {
      const type = String.fromCharCode(this.#buffer[0] ?? 0);
      const body = this.#take(1);
      if (body === undefined) return;
      yield { type, body };
    }
  }

  /** Takes the body after `start` bytes and the length; undefined until it is complete. */
  #take(start: number): Buffer | undefined {
    if (this.#buffer.length < start + 4) return undefined;
    const end = start + this.#buffer.readInt32BE(start);
    if (this.#buffer.length < end) return undefined;
    const body = this.#buffer.subarray(start + 4, end);
    this.#buffer = this.#buffer.subarray(end);
    return body;
  }
}

export function encode(type: string, ...parts: (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

/** Encodes numbers of 32 bits. */
export function int32(...values: number[]): Buffer {
  const buffer = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) buffer.writeInt32BE(value, index * 4);
  return buffer;
}

/** Encodes the first packet of a connection. */
export function encodeStartup(version: number, parameters: Readonly<Record<string, string>>): Buffer {
  const texts = Object.entries(parameters).map(([name, value]) => `${name}\0${value}\0`);
  const body = Buffer.concat([int32(version), Buffer.from(`${texts.join("")}\0`)]);
  return Buffer.concat([int32(body.length + 4), body]);
}

export function encodeCancel({ processId, secret }: CancelKey): Buffer {
  return int32(16, CANCEL_REQUEST, processId, secret);
}

export type ErrorFields = { severity?: "ERROR" | "FATAL"; code: string; message: string; detail?: string };

export function encodeError({ severity = "ERROR", code, message, detail }: ErrorFields): Buffer {
  const fields = { S: severity, V: severity, C: code, M: message, ...(detail !== undefined && { D: detail }) };
  return encode(
    "E",
    `${Object.entries(fields)
      .map(([field, text]) => `${field}${text}\0`)
      .join("")}\0`,
  );
}

/** `I` for idle, `T` in a transaction, `E` in a failed transaction. */
export type TransactionStatus = "I" | "T" | "E";

export const encodeReady = (status: TransactionStatus): Buffer => encode("Z", status);

export type Parse = { name: string; text: string; types: Buffer };

export function decodeParse(body: Buffer): Parse {
  const [name, text, types] = splitTexts(body);
  return { name, text, types };
}

export const encodeParse = ({ name, text, types }: Parse): Buffer => encode("P", `${name}\0${text}\0`, types);

export type Bind = { portal: string; statement: string; values: (string | null)[]; rest: Buffer };

export function decodeBind(body: Buffer): Bind {
  const [portal, statement, rest] = splitTexts(body);
  let offset = 2 + 2 * rest.readInt16BE(0);
  const count = rest.readInt16BE(offset);
  offset += 2;
  const values: Bind["values"] = [];
  for (let index = 0; index < count; index++) {
    const length = rest.readInt32BE(offset);
    offset += 4;
    // A text has the same bytes in the text and in the binary format.
    values.push(length < 0 ? null : rest.toString("utf8", offset, offset + length));
    offset += Math.max(length, 0);
  }
  return { portal, statement, values, rest };
}

export const encodeBind = ({ portal, statement, rest }: Bind): Buffer => encode("B", `${portal}\0${statement}\0`, rest);

/** Describe and Close: whether the name is a statement's or a portal's. */
export function decodeTarget(body: Buffer): { isStatement: boolean; name: string } {
  return { isStatement: body[0] === "S".charCodeAt(0), name: readText(body.subarray(1)) };
}

/** Returns the text before the first zero byte. */
export const readText = (body: Buffer): string => body.toString("utf8", 0, body.indexOf(0));

function splitTexts(body: Buffer): [first: string, second: string, rest: Buffer] {
  const first = body.indexOf(0);
  const second = body.indexOf(0, first + 1);
  return [body.toString("utf8", 0, first), body.toString("utf8", first + 1, second), body.subarray(second + 1)];
}
