import { RpcError, status } from "@parley/rpc";
import type { FastifyReply, FastifyRequest } from "fastify";
import { addressBucket, HttpError, unavailable } from "../http/index.ts";
import { createSseSink, type Streams } from "../streams/index.ts";
import { runTurn, type Stopwatch, type TurnDeps, type TurnRequest } from "../turns/index.ts";

const HEARTBEAT_MS = 15_000;

export type StreamDeps = { turn: TurnDeps; streams: Streams };

/** Runs a turn and streams it as the answer to a request. What fails before the stream is open is thrown as an HttpError. */
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
      // From here on the answer is the sink's; until here Fastify can still send a plain one.
      reply.hijack();
      return reply.getHeaders();
    },
    heartbeatMs: HEARTBEAT_MS,
    hurry: stream.over,
  });
  try {
    const report = await runTurn(deps.turn, turn, sink, { visitor: stream.gone, over: stream.over }, watch);
    deps.streams.ended(report, watch, request.log);
  } catch (error) {
    throw beforeStream(error);
  } finally {
    stream.close();
  }
}

function beforeStream(error: unknown): Error {
  if (!(error instanceof RpcError)) return error as Error;
  if (error.status === status.NOT_FOUND) return new HttpError(404, error.code, {}, { cause: error });
  return unavailable(error);
}
