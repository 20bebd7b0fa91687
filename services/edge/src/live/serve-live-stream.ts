import type { FastifyReply, FastifyRequest } from "fastify";
import { SseWriter, type StreamRegistry } from "../streams/index.ts";

/** Writes the events of a live stream. `write` returns a promise while the client is slow. */
export type LiveWriter = {
  write(event: string, data: object, id?: string): Promise<void> | undefined;
};

type LiveExchange = {
  request: Pick<FastifyRequest, "log">;
  reply: FastifyReply;
  /** Identifies the client for the limits of open streams. */
  bucket: string;
  isVisitor: boolean;
};

const HEARTBEAT_MS = 15_000;
const MAX_STREAM_MS = 10 * 60_000;

type LiveSource<First> = {
  /** Runs before the response begins. */
  readFirst: () => Promise<First>;
  /** Writes events until the signal is aborted. */
  follow: (writer: LiveWriter, first: First, signal: AbortSignal) => Promise<void>;
};

/**
 * Sends the events of a live stream until `follow` returns, the client leaves, the process stops, or 10 minutes are over. Throws what `readFirst`
 * throws. An error of `follow` ends the stream, and a client that connects again gets it as a response.
 */
export async function serveLiveStream<First>(
  streams: StreamRegistry,
  { request, reply, bucket, isVisitor }: LiveExchange,
  { readFirst, follow }: LiveSource<First>,
): Promise<void> {
  const stream = streams.open(reply.raw, bucket, { isLive: isVisitor });
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), MAX_STREAM_MS);
  try {
    const first = await readFirst();
    const writer = new SseWriter(reply.raw, {
      open: () => {
        reply.hijack();
        return reply.getHeaders();
      },
      heartbeatMs: HEARTBEAT_MS,
      endSignal: stream.endSignal,
    });
    writer.open();
    const write = (event: string, data: object, id?: string) =>
      writer.write(event, data, id) ? undefined : writer.drained();
    await follow({ write }, first, AbortSignal.any([stream.endSignal, limit.signal])).catch((error: unknown) =>
      request.log.debug({ error }, "live stream ended"),
    );
    writer.end();
  } finally {
    clearTimeout(timer);
    stream.release();
  }
}
