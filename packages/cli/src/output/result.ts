import type { JsonValue } from "@bufbuild/protobuf";
import { printableJson, printableLines } from "./printable.ts";

/** A command's result: a JSON document for scripts and text for people. */
export type Result = {
  json: JsonValue;
  text: string;
  /** Default: 0. */
  exitCode?: number;
};

export type Streams = {
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
  /** For interactive commands. */
  stdin?: NodeJS.ReadableStream;
};

/** Writes a result to stdout, as JSON or text. On a terminal, escapes the text's control characters. */
export function writeResult(result: Result, asJson: boolean, stdout: NodeJS.WritableStream): void {
  const isTerminal = (stdout as Partial<NodeJS.WriteStream>).isTTY === true;
  const text = isTerminal ? printableLines(result.text) : result.text;
  stdout.write(asJson ? `${printableJson(JSON.stringify(result.json, undefined, 2))}\n` : text);
}

/** Returns the terminal's width. Returns undefined if stdout is no terminal or the width is unknown, as in some containers. */
export function terminalColumns(stdout: NodeJS.WritableStream): number | undefined {
  return (stdout as Partial<NodeJS.WriteStream>).columns || undefined;
}
