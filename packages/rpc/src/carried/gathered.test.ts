import { EventEmitter } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { Gathered } from "./gathered.ts";

/** A stream that takes so many messages, and then none until it has drained. */
class Reader extends EventEmitter {
  readonly messages: string[][] = [];
  room: number;
  constructor(room = Number.POSITIVE_INFINITY) {
    super();
    this.room = room;
  }
  write(message: string[]): boolean {
    this.messages.push(message);
    return --this.room > 0;
  }
  drain(room: number): void {
    this.room = room;
    this.emit("drain");
  }
}

const KIB = 1024;
const gathered = (reader: Reader) => new Gathered<string, string[]>(reader, (frames) => frames);

test("what is said in one turn of the event loop leaves in one message, in order", async () => {
  const reader = new Reader();
  const frames = gathered(reader);
  frames.push("a", 1);
  await Promise.resolve();
  frames.push("b", 1);
  expect(reader.messages).toEqual([]);
  await nextTurn();
  frames.push("c", 1);
  await nextTurn();
  expect(reader.messages).toEqual([["a", "b"], ["c"]]);
});

test("long ones are divided, and one that is too long by itself goes alone", async () => {
  const reader = new Reader();
  const frames = gathered(reader);
  for (const [name, bytes] of [
    ["a", 30],
    ["b", 30],
    ["c", 30],
    ["d", 300],
    ["e", 1],
  ] as const)
    frames.push(name, bytes * KIB);
  await nextTurn();
  expect(reader.messages).toEqual([["a", "b"], ["c"], ["d"], ["e"]]);
});

test("nothing is written to who does not read, until it does", async () => {
  const reader = new Reader(1);
  const frames = gathered(reader);
  frames.push("a", 1);
  await nextTurn();
  expect(frames.isBlocked).toBe(true);
  for (const each of ["b", "c"]) {
    frames.push(each, 1);
    await nextTurn();
  }
  expect(reader.messages).toEqual([["a"]]);
  reader.drain(2);
  expect(reader.messages).toEqual([["a"], ["b", "c"]]);
  expect(frames.isBlocked).toBe(false);
});

test("what waits at the end is written all the same", () => {
  const reader = new Reader(1);
  const frames = gathered(reader);
  frames.push("a", 60 * KIB);
  frames.push("b", 60 * KIB);
  frames.flush();
  expect(reader.messages).toEqual([["a"], ["b"]]);
});
