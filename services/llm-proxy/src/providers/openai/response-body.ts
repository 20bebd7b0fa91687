export type BodyReader = ReadableStreamDefaultReader<Uint8Array>;

/** Reads a body as text, at most its first `maxBytes`; a longer body is cancelled and its connection closed. */
export async function readText(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes).toString();
}

/** Discards what is left of a body, so that its connection can serve the next request; cancels it after `timeoutMs`. */
export async function drain(reader: BodyReader, timeoutMs: number): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), timeoutMs);
  try {
    while (!(await reader.read()).done);
  } catch {
    // The completion is already whole, so a broken connection does not matter.
  } finally {
    clearTimeout(timer);
  }
}
