import { RpcError, status } from "@parley/rpc";
import type { FastifyReply, FastifyRequest } from "fastify";
import { addressBucket, HttpError, unavailable } from "../http/index.ts";
import { createSseSink, type Streams } from "../streams/index.ts";
import { runTurn, type Stopwatch, type TurnDeps, type TurnRequest } from "../turns/index.ts";

const HEARTBEAT_MS = 15_000;

export type StreamDeps = { turn: TurnDeps; streams: Streams };

/** Runs a turn and streams it as the response. Throws an HttpError if it fails before the stream is open. */
export async function streamTurn(
  deps: StreamDeps,
  turn: TurnRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  watch: Stopwatch,
): Promise<void> {
  const stream = deps.streams.open(reply.raw, addressBucket(request.ip));
  const sink = createSseSink(reply.raw, {
    open: () => {
      // From here on the sink writes the response. Until here Fastify can still send an error.
      reply.hijack();
      return reply.getHeaders();
    },
    heartbeatMs: HEARTBEAT_MS,
    mustEnd: stream.mustEnd,
  });
  try {
    const report = await runTurn(deps.turn, turn, {
      sink,
      visitorGone: stream.clientGone,
      mustEnd: stream.mustEnd,
      watch,
    });
    deps.streams.report(report, watch, request.log);
  } catch (error) {
    throw toHttpError(error);
  } finally {
    stream.close();
  }
}

function toHttpError(error: unknown): Error {
  if (!(error instanceof RpcError)) return error as Error;
  if (error.status === status.NOT_FOUND) return new HttpError(404, error.code, {}, { cause: error });
  return unavailable(error);
}
