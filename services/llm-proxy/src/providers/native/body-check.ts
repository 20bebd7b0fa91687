import { createTruncatedFailure, failureFromReason } from "../failure.ts";
import { EventStreamParser } from "../http/event-stream-parser.ts";

/** Checks the bytes of a response's body, because the AI SDK would skip damage and keep an endless event in memory. Throws ProviderFailure. */
export type BodyCheck = {
  push(bytes: Uint8Array): void;
  end(): void;
};

/** Returns the check of a stream of Server-Sent Events. */
export function createEventCheck(): BodyCheck {
  const parser = new EventStreamParser(() => undefined);
  return {
    push(bytes) {
      parser.feed(bytes);
      if (parser.parseFailure !== undefined) throw failureFromReason(parser.parseFailure);
      if (parser.hasGap) throw failureFromReason("malformed");
    },
    end: () => undefined,
  };
}

/** A frame has 12 bytes before its headers and 4 after its payload. */
const MIN_FRAME_BYTES = 16;
/** Bounds the memory of a stream. A longer frame has a damaged length. */
const MAX_FRAME_BYTES = 8 * 1024 * 1024;
const LENGTH_BYTES = 4;

/** Returns the check of a stream in AWS's binary format of events. Each frame begins with its length; the AI SDK checks its checksums. */
export function createFrameCheck(): BodyCheck {
  let length = 0;
  let lengthBytes = 0;
  let remaining = 0;
  return {
    push(bytes) {
      for (let at = 0; at < bytes.length; ) {
        if (remaining > 0) {
          const skipped = Math.min(remaining, bytes.length - at);
          at += skipped;
          remaining -= skipped;
          continue;
        }
        length = length * 256 + (bytes[at++] ?? 0);
        if (++lengthBytes < LENGTH_BYTES) continue;
        if (length < MIN_FRAME_BYTES || length > MAX_FRAME_BYTES) throw failureFromReason("malformed");
        remaining = length - LENGTH_BYTES;
        length = 0;
        lengthBytes = 0;
      }
    },
    end() {
      if (remaining > 0 || lengthBytes > 0) throw createTruncatedFailure();
    },
  };
}
