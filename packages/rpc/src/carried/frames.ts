import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { MethodDefinition } from "@grpc/grpc-js";
import { methodDefinition } from "../definition.ts";
import { CallsService } from "../gen/parley/rpc/v1/calls_pb.js";

// Every call and every token is in one of these, so they are written and read by hand, as calls.proto says, at a third of what the
// general way costs.

/** How a call begins. */
export type CallBegin = { method: string; timeoutMs: number; metadata: Record<string, string>; request: Uint8Array };

/** One step of a call; none of the steps when a later version has said another. */
export type CallFrame = { callId: number } & Partial<{ begin: CallBegin; takenBytes: number; cancel: true }>;

/** How a call has ended. */
export type CallEnd = { status: number; code: string; message: string };

/** A response to a call, its end, or both. */
export type AnswerFrame = { callId: number; response?: Uint8Array | undefined; end?: CallEnd | undefined };

/** The stream of CallsService, in frames. */
export const CARRY: MethodDefinition<CallFrame[], AnswerFrame[]> = {
  ...methodDefinition(CallsService.method.carry),
  requestSerialize: (frames) => written(frames, writeCall),
  requestDeserialize: (bytes) => read(bytes, readCall),
  responseSerialize: (frames) => written(frames, writeAnswer),
  responseDeserialize: (bytes) => read(bytes, readAnswer),
};

const { LengthDelimited, Varint } = WireType;

/** Keeps its memory from one message to the next, unless that was a large one. */
let shared = new BinaryWriter();
const MAX_KEPT_BYTES = 256 * 1024;

function written<Frame>(frames: readonly Frame[], write: (writer: BinaryWriter, frame: Frame) => void): Buffer {
  const writer = shared;
  // What fails on the way leaves it half full.
  shared = new BinaryWriter();
  for (const frame of frames) {
    writer.tag(1, LengthDelimited).fork();
    write(writer, frame);
    writer.join();
  }
  const bytes = writer.finish();
  if (bytes.length <= MAX_KEPT_BYTES) shared = writer;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function writeCall(writer: BinaryWriter, { callId, begin, takenBytes, cancel }: CallFrame): void {
  writer.tag(1, Varint).uint32(callId);
  if (begin !== undefined) {
    writer.tag(2, LengthDelimited).fork();
    writer.tag(1, LengthDelimited).string(begin.method);
    writer.tag(2, Varint).uint32(begin.timeoutMs);
    for (const [key, value] of Object.entries(begin.metadata)) {
      writer.tag(3, LengthDelimited).fork();
      writer.tag(1, LengthDelimited).string(key);
      writer.tag(2, LengthDelimited).string(value);
      writer.join();
    }
    writer.tag(4, LengthDelimited).bytes(begin.request);
    writer.join();
  } else if (takenBytes !== undefined) writer.tag(3, Varint).uint32(takenBytes);
  else if (cancel) writer.tag(4, LengthDelimited).fork().join();
}

function writeAnswer(writer: BinaryWriter, { callId, response, end }: AnswerFrame): void {
  writer.tag(1, Varint).uint32(callId);
  if (response !== undefined) writer.tag(2, LengthDelimited).bytes(response);
  if (end === undefined) return;
  writer.tag(3, LengthDelimited).fork();
  if (end.status !== 0) {
    writer.tag(1, Varint).int32(end.status);
    writer.tag(2, LengthDelimited).string(end.code);
    writer.tag(3, LengthDelimited).string(end.message);
  }
  writer.join();
}

function read<Frame>(bytes: Uint8Array, readFrame: (reader: BinaryReader, end: number) => Frame): Frame[] {
  const reader = new BinaryReader(bytes);
  const frames: Frame[] = [];
  eachField(reader, reader.len, (field) => {
    if (field !== 1) return false;
    frames.push(readFrame(reader, endOf(reader)));
    return true;
  });
  return frames;
}

function readCall(reader: BinaryReader, end: number): CallFrame {
  let callId = 0;
  // Of several, the last one counts.
  let step: Omit<CallFrame, "callId"> = {};
  eachField(reader, end, (field) => {
    if (field === 1) callId = reader.uint32();
    else if (field === 2) step = { begin: readBegin(reader, endOf(reader)) };
    else if (field === 3) step = { takenBytes: reader.uint32() };
    else if (field === 4) {
      reader.bytes();
      step = { cancel: true };
    } else return false;
    return true;
  });
  return { callId, ...step };
}

function readBegin(reader: BinaryReader, end: number): CallBegin {
  const begin: CallBegin = { method: "", timeoutMs: 0, metadata: {}, request: new Uint8Array() };
  eachField(reader, end, (field) => {
    if (field === 1) begin.method = reader.string(true);
    else if (field === 2) begin.timeoutMs = reader.uint32();
    else if (field === 3) readEntry(reader, endOf(reader), begin.metadata);
    else if (field === 4) begin.request = reader.bytes();
    else return false;
    return true;
  });
  return begin;
}

function readEntry(reader: BinaryReader, end: number, into: Record<string, string>): void {
  let key = "";
  let value = "";
  eachField(reader, end, (field) => {
    if (field === 1) key = reader.string(true);
    else if (field === 2) value = reader.string(true);
    else return false;
    return true;
  });
  // A key of this name would set no entry but the object's prototype.
  Object.defineProperty(into, key, { value, enumerable: true, configurable: true, writable: true });
}

function readAnswer(reader: BinaryReader, end: number): AnswerFrame {
  const frame: AnswerFrame = { callId: 0 };
  eachField(reader, end, (field) => {
    if (field === 1) frame.callId = reader.uint32();
    else if (field === 2) frame.response = reader.bytes();
    else if (field === 3) frame.end = readEnd(reader, endOf(reader));
    else return false;
    return true;
  });
  return frame;
}

function readEnd(reader: BinaryReader, end: number): CallEnd {
  const ended: CallEnd = { status: 0, code: "", message: "" };
  eachField(reader, end, (field) => {
    if (field === 1) ended.status = reader.int32();
    else if (field === 2) ended.code = reader.string(true);
    else if (field === 3) ended.message = reader.string(true);
    else return false;
    return true;
  });
  return ended;
}

/** Where the message that comes next ends. */
function endOf(reader: BinaryReader): number {
  return reader.uint32() + reader.pos;
}

/** Reads the fields of a message up to its end; one that `readField` does not know is passed over, as a later version may add some. */
function eachField(reader: BinaryReader, end: number, readField: (field: number) => boolean): void {
  if (end > reader.len) throw new RangeError("a message is longer than what holds it");
  while (reader.pos < end) {
    const [field, wireType] = reader.tag();
    if (!readField(field)) reader.skip(wireType, field);
  }
}
