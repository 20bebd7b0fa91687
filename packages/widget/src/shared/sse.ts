/**
 * One Server-Sent Event. `name` is `message` if the stream gives none. `data` has the data lines, joined by newlines. `id` is
 * the last id so far.
 */
export interface ServerEvent {
  readonly name: string;
  readonly data: string;
  readonly id: string;
}

/**
 * Returns a function that takes the stream's text in chunks of any size and calls `onEvent` for each complete event.
 * Ignores comments, events without data, and retry hints.
 */
export function createSseParser(onEvent: (event: ServerEvent) => void): (chunk: string) => void {
  let incompleteLine = "";
  let name = "";
  let id = "";
  let data: string[] = [];
  const readLine = (line: string) => {
    if (line === "") {
      if (data.length > 0) {
        onEvent({ name: name || "message", data: data.join("\n"), id });
      }
      name = "";
      data = [];
      return;
    }
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") {
      name = value;
    } else if (field === "data") {
      data.push(value);
    } else if (field === "id") {
      id = value;
    }
  };
  return (chunk) => {
    // A carriage return at the end of a chunk may be the first half of CRLF, so it stays in the incomplete line.
    const lines = (incompleteLine + chunk).split(/\r\n|\n|\r(?!$)/);
    incompleteLine = lines.pop() ?? "";
    for (const line of lines) {
      readLine(line);
    }
  };
}
