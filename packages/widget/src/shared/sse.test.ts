import { describe, expect, it } from "vitest";
import { createSseParser, type ServerEvent } from "./sse.ts";

function parse(...chunks: string[]): ServerEvent[] {
  const events: ServerEvent[] = [];
  const push = createSseParser((event) => events.push(event));
  for (const chunk of chunks) {
    push(chunk);
  }
  return events;
}

const STREAM =
  'event: meta\r\ndata: {"a":1}\r\n\r\n: still here\n\nevent:token\nid: 7-3\ndata:{"text":"one: two"}\n\rdata: x\r\r';
const EVENTS = [
  { name: "meta", data: '{"a":1}', id: "" },
  { name: "token", data: '{"text":"one: two"}', id: "7-3" },
  { name: "message", data: "x", id: "7-3" },
];

describe("createSseParser", () => {
  it("reads names and data with LF, CRLF and CR line ends", () => {
    expect(parse(STREAM, "\n")).toEqual(EVENTS);
  });

  it("returns the same events however the stream is split into chunks", () => {
    for (let cut = 0; cut <= STREAM.length; cut++) {
      expect(parse(STREAM.slice(0, cut), STREAM.slice(cut), "\n")).toEqual(EVENTS);
    }
    expect(parse(...STREAM, "\n")).toEqual(EVENTS);
  });

  it("joins data lines with newlines and drops one space after the colon", () => {
    expect(parse("data: one\ndata:  two\ndata\n\n")).toEqual([{ name: "message", data: "one\n two\n", id: "" }]);
  });

  it("ignores comments, retry hints and events without data, and keeps the id of an event without data", () => {
    expect(parse(": hello\nid: 7\nretry: 100\nevent: empty\n\ndata: y\n\n")).toEqual([
      { name: "message", data: "y", id: "7" },
    ]);
  });

  it("returns no event before its blank line", () => {
    expect(parse("event: token\ndata: half")).toEqual([]);
    expect(parse("event: token\ndata: half\n")).toEqual([]);
  });
});
