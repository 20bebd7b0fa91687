import type { JsonValue } from "@bufbuild/protobuf";
import { printableJson, printableLines } from "./printable.ts";

/** A command's result: a JSON document for scripts and text for people. */
export type Result = {
  json: JsonValue;
  text: string;
  /** 0 unless set. */
  exitCode?: number;
};

export type Streams = {
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
  /** The keyboard, for interactive commands. */
  stdin?: NodeJS.ReadableStream;
};

/** Writes a result to stdout, as JSON or text. Text for a terminal contains no character that controls it. */
export function writeResult(result: Result, asJson: boolean, stdout: NodeJS.WritableStream): void {
  const isTerminal = (stdout as Partial<NodeJS.WriteStream>).isTTY === true;
  const text = isTerminal ? printableLines(result.text) : result.text;
  stdout.write(asJson ? `${printableJson(JSON.stringify(result.json, undefined, 2))}\n` : text);
}

/** Returns the width of the terminal. Returns undefined if stdout is no terminal or does not know its width, such as in some containers. */
export function terminalColumns(stdout: NodeJS.WritableStream): number | undefined {
  return (stdout as Partial<NodeJS.WriteStream>).columns || undefined;
}
