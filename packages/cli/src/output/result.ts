import type { JsonValue } from "@bufbuild/protobuf";

/** A command's result: a JSON document for scripts and text for people. */
export type Result = {
  json: JsonValue;
  text: string;
  /** Default 0. */
  exitCode?: number;
};

export type Streams = {
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
  /** The keyboard, for interactive commands. */
  stdin?: NodeJS.ReadableStream;
};

/** Writes a result to stdout, as JSON or text. */
export function writeResult(result: Result, asJson: boolean, stdout: NodeJS.WritableStream): void {
  stdout.write(asJson ? `${JSON.stringify(result.json, undefined, 2)}\n` : result.text);
}
