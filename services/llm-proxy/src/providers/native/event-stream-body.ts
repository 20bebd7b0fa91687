import { failureFromBodyError, failureFromReason } from "../failure.ts";
import { EventStreamParser } from "../http/event-stream-parser.ts";
import type { ResponseBody } from "../http/response-body.ts";

/**
 * Returns a body as the web stream that the AI SDK reads. Calls `onBytes` whenever bytes arrive. The stream fails if the event stream is damaged or too
 * large, because the SDK would skip damaged lines and keep an endless line in memory.
 */
export function toWebStream(body: ResponseBody, onBytes: () => void): ReadableStream<Uint8Array> {
  const parser = new EventStreamParser(() => undefined);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await readChunk(body);
        if (bytes === undefined) return controller.close();
        onBytes();
        parser.feed(bytes);
        if (parser.parseFailure !== undefined) throw failureFromReason(parser.parseFailure);
        if (parser.hasGap) throw failureFromReason("malformed");
        controller.enqueue(bytes);
      },
    },
    // Backpressure: nothing is read ahead.
    { highWaterMark: 0 },
  );
}

/** Returns undefined at the end of the body. Throws ProviderFailure if the body was cut off. */
async function readChunk(body: ResponseBody): Promise<Uint8Array | undefined> {
  try {
    return (await body.next()).value;
  } catch (error) {
    throw failureFromBodyError(error);
  }
}
