import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CarryRequestSchema, CarryResponseSchema } from "../gen/parley/rpc/v1/calls_pb.js";
import { type AnswerFrame, CARRY, type CallFrame } from "./frames.ts";

// By hand and by calls.proto's own code, both ways: they must mean the same.

const uint32 = fc.nat(2 ** 32 - 1);
const text = fc.string({ unit: "grapheme" });
const bytes = fc.uint8Array({ maxLength: 300 });
const metadata = fc.dictionary(
  fc.oneof(
    text.filter((key) => key !== "__proto__"),
    fc.constant("constructor"),
  ),
  text,
  { maxKeys: 3, noNullPrototype: true },
);
const callFrame: fc.Arbitrary<CallFrame> = fc.oneof(
  fc.record({ callId: uint32, begin: fc.record({ method: text, timeoutMs: uint32, metadata, request: bytes }) }),
  fc.record({ callId: uint32, takenBytes: uint32 }),
  fc.record({ callId: uint32, cancel: fc.constant(true as const) }),
  fc.record({ callId: uint32 }),
);
const callEnd = fc.oneof(
  fc.constant({ status: 0, code: "", message: "" }),
  fc.record({ status: fc.integer({ min: 1, max: 16 }), code: text, message: text }),
);
const answerFrame: fc.Arbitrary<AnswerFrame> = fc.record(
  { callId: uint32, response: bytes, end: callEnd },
  { requiredKeys: ["callId"] },
);

function stepOf({ begin, takenBytes, cancel }: CallFrame) {
  if (begin !== undefined) return { case: "begin" as const, value: begin };
  if (takenBytes !== undefined) return { case: "takenBytes" as const, value: takenBytes };
  return cancel ? { case: "cancel" as const, value: {} } : { case: undefined };
}

/** So that bytes read of it are like those that were written, and no Buffers. */
const plain = (message: Uint8Array) => new Uint8Array(message) as Buffer;

test("what calls say is written and read as calls.proto says", () => {
  fc.assert(
    fc.property(fc.array(callFrame, { maxLength: 5 }), (frames) => {
      const message = create(CarryRequestSchema, {
        frames: frames.map((frame) => ({ callId: frame.callId, step: stepOf(frame) })),
      });
      expect(fromBinary(CarryRequestSchema, plain(CARRY.requestSerialize(frames)))).toEqual(message);
      expect(CARRY.requestDeserialize(plain(toBinary(CarryRequestSchema, message)))).toEqual(frames);
    }),
  );
});

test("what answers say is written and read as calls.proto says", () => {
  fc.assert(
    fc.property(fc.array(answerFrame, { maxLength: 5 }), (frames) => {
      const message = create(CarryResponseSchema, { frames });
      expect(fromBinary(CarryResponseSchema, plain(CARRY.responseSerialize(frames)))).toEqual(message);
      expect(CARRY.responseDeserialize(plain(toBinary(CarryResponseSchema, message)))).toEqual(frames);
    }),
  );
});

test("a key that names the prototype is an entry like any other", () => {
  const value = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
  const begin = { method: "m", timeoutMs: 1, metadata: value, request: new Uint8Array() };
  const [frame] = CARRY.requestDeserialize(CARRY.requestSerialize([{ callId: 1, begin }]));
  expect(Object.entries(frame?.begin?.metadata ?? {})).toEqual([["__proto__", "x"]]);
});

test("what a later version adds is passed over", () => {
  const writer = new BinaryWriter();
  writer.tag(9, WireType.LengthDelimited).string("of the message");
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(9, WireType.Varint).uint32(300);
  writer.tag(1, WireType.Varint).uint32(7);
  writer.tag(8, WireType.Bit64).fixed64(1n);
  writer.tag(4, WireType.LengthDelimited).fork().tag(1, WireType.Varint).uint32(1).join();
  writer.join();
  expect(CARRY.requestDeserialize(Buffer.from(writer.finish()))).toEqual([{ callId: 7, cancel: true }]);
});

test("of several steps in one frame the last one counts", () => {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(4, WireType.LengthDelimited).fork().join();
  writer.tag(3, WireType.Varint).uint32(5);
  writer.tag(1, WireType.Varint).uint32(7);
  writer.join();
  const message = Buffer.from(writer.finish());
  expect(CARRY.requestDeserialize(message)).toEqual([{ callId: 7, takenBytes: 5 }]);
  expect(fromBinary(CarryRequestSchema, message).frames[0]?.step).toEqual({ case: "takenBytes", value: 5 });
});

test("text that is no UTF-8 is refused", () => {
  const message = CARRY.responseSerialize([{ callId: 1, end: { status: 5, code: "xxxx", message: "" } }]);
  message[message.indexOf("xxxx")] = 0xff;
  expect(() => fromBinary(CarryResponseSchema, message)).toThrow();
  expect(() => CARRY.responseDeserialize(message)).toThrow();
});

test("bytes that are no message are refused", () => {
  for (const hex of ["0a", "0a05", "0aff", "0a0208", "08ffffffffffffffffffff01"])
    expect(() => CARRY.requestDeserialize(Buffer.from(hex, "hex")), hex).toThrow();
});

test("a frame that cannot be written spoils none after it", () => {
  expect(() => CARRY.requestSerialize([{ callId: 1 }, { callId: -1 }])).toThrow();
  expect(CARRY.requestDeserialize(CARRY.requestSerialize([{ callId: 2 }]))).toEqual([{ callId: 2 }]);
});

test("a message is not changed by the ones after it, however large they are", () => {
  const first = CARRY.responseSerialize([{ callId: 1, response: new Uint8Array([1, 2, 3]) }]);
  const before = Buffer.from(first);
  for (const size of [10, 1_000_000, 10]) CARRY.responseSerialize([{ callId: 2, response: new Uint8Array(size) }]);
  expect(first.equals(before)).toBe(true);
});
