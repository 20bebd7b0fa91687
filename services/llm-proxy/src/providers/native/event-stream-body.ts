import { failureFromBodyError } from "../failure.ts";
import type { ResponseBody } from "../http/response-body.ts";
import type { BodyCheck } from "./body-check.ts";

/** Returns a body as the web stream that the AI SDK reads. Calls `onBytes` whenever bytes arrive. The stream fails if the check does. */
export function toWebStream(
  body: ResponseBody,
  { check, onBytes }: { check: BodyCheck; onBytes: () => void },
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await readChunk(body);
        if (bytes === undefined) {
          check.end();
          return controller.close();
        }
        onBytes();
        check.push(bytes);
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
