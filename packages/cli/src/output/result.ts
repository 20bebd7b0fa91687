import type { JsonValue } from "@bufbuild/protobuf";

/** What a command found: one JSON document for scripts, and text for people. */
export type Result = {
  json: JsonValue;
  text: string;
  /** 0 unless given. */
  exitCode?: number;
};

export type Streams = {
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
  /** The keyboard, for what a person steers. */
  stdin?: NodeJS.ReadableStream;
};

/** Writes a result to stdout: the document alone, or the text. */
export function writeResult(result: Result, asJson: boolean, stdout: NodeJS.WritableStream): void {
  stdout.write(asJson ? `${JSON.stringify(result.json, undefined, 2)}\n` : result.text);
}
