import { once } from "node:events";
import { connect } from "node:net";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Collector, startCollector } from "./collector.ts";

let collector: Collector;
beforeAll(async () => {
  collector = await startCollector();
});
afterAll(() => collector.close());

const messageField = (number: number, write: (writer: BinaryWriter) => BinaryWriter) => (writer: BinaryWriter) =>
  write(writer.tag(number, WireType.LengthDelimited).fork()).join();

/** Exports one span with an attribute `key`. `writeValue` writes the fields of the attribute's AnyValue. */
function exportAttribute(writeValue: (writer: BinaryWriter) => BinaryWriter): Promise<Response> {
  const key = (writer: BinaryWriter) => writer.tag(1, WireType.LengthDelimited).string("key");
  const attribute = messageField(9, (writer) => messageField(2, writeValue)(key(writer)));
  const body = messageField(1, messageField(2, messageField(2, attribute)))(new BinaryWriter()).finish();
  return fetch(`${collector.url}/v1/traces`, { method: "POST", body: new Uint8Array(body) });
}

test("reads attributes that are strings, booleans, integers and doubles", async () => {
  await exportAttribute((writer) => writer.tag(1, WireType.LengthDelimited).string("text"));
  await exportAttribute((writer) => writer.tag(2, WireType.Varint).bool(true));
  await exportAttribute((writer) => writer.tag(3, WireType.Varint).int64(-7));
  await exportAttribute((writer) => writer.tag(4, WireType.Bit64).double(0.25));
  expect(collector.spans.map(({ attributes }) => attributes.key)).toEqual(["text", true, -7, 0.25]);
});

test("ignores an export if the connection closes before the end of the body", async () => {
  const before = collector.bodies.length;
  const socket = connect(Number(new URL(collector.url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.write("POST /v1/traces HTTP/1.1\r\nhost: collector\r\ncontent-length: 100\r\n\r\nbegin");
  socket.resume().end();
  await once(socket, "close");
  expect(collector.bodies).toHaveLength(before);
});
