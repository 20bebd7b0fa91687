import { RpcError, status } from "@parley/rpc";
import type { FastifyReply } from "fastify";
import type { ChallengeDeps } from "../challenges/index.ts";
import { HttpError, overloadedError, routeOf, unavailableError } from "../http/index.ts";
import type { RecordRefusal } from "../refusals/index.ts";
import { createSseSink, type StreamRegistry } from "../streams/index.ts";
import { runTurn, type Stopwatch, type TurnDeps, type TurnReport, type TurnRequest } from "../turns/index.ts";
import { createMessageCounter, type MessageLimits } from "./message-counter.ts";

export const HEARTBEAT_MS = 15_000;

/** The ends of a stream that refuse the message. The other failures have a cause that `parley explain` shows. */
const REFUSALS_IN_STREAM: ReadonlySet<string> = new Set(["quota_exceeded", "busy", "blocked"]);

export type StreamDeps = ChallengeDeps & {
  turnDeps: TurnDeps;
  streams: StreamRegistry;
  recordRefusal: RecordRefusal;
};

export type HttpContext = MessageLimits & {
  /** The rate-limit bucket of the caller: an address or a user. */
  clientBucket: string;
  reply: FastifyReply;
  stopwatch: Stopwatch;
  /** Whether the workspace has identity keys. Without them, no session gets a verified visitor. */
  hasIdentityKeys: boolean;
};

/** Runs a turn and streams it as the response. Throws an HttpError if the turn is refused or fails before the stream is open. */
export async function streamTurn(deps: StreamDeps, turn: TurnRequest, http: HttpContext): Promise<void> {
  const { clientBucket, reply, stopwatch } = http;
  const refusal = deps.turnDeps.unpaidReplies.findRefusal(turn.client, reply);
  if (refusal !== undefined) throw refusal;
  const stream = deps.streams.open(reply.raw, clientBucket);
  const sink = createSseSink(reply.raw, {
    open: () => {
      // From here on the sink writes the response. Until here Fastify can still send an error.
      reply.hijack();
      return reply.getHeaders();
    },
    heartbeatMs: HEARTBEAT_MS,
    endSignal: stream.endSignal,
  });
  try {
    // If the client leaves or stops the reply, cancelSignal and endSignal are aborted, and the turn ends as `cancelled`. If the process stops,
    // only endSignal is aborted, and the turn ends with an error.
    const countMessage = createMessageCounter(deps, turn, http);
    const context = { sink, cancelSignal: stream.cancelSignal, endSignal: stream.endSignal, stopwatch, countMessage };
    const report = await runTurn(deps.turnDeps, turn, context, stream.cancel);
    reportTurn(deps, report, { reply, stopwatch });
  } catch (error) {
    throw translateTurnError(error);
  } finally {
    stream.release();
  }
}

/** Logs and measures a finished turn, and records it if its message was refused. */
export function reportTurn(
  { streams, recordRefusal }: StreamDeps,
  report: TurnReport,
  { reply: { request }, stopwatch }: Pick<HttpContext, "reply" | "stopwatch">,
): void {
  streams.reportTurn(report, stopwatch, request.log);
  const { errorCode, done } = report;
  const code = done.finish_reason === "blocked" ? "blocked" : errorCode;
  if (REFUSALS_IN_STREAM.has(code)) {
    // The workspace of a widget's request is that of its key.
    request.workspaceId = report.workspaceId;
    recordRefusal({ code, status: 200, reason: "", route: routeOf(request) }, request);
  }
}

/** Translates an RpcError of OpenTurn or FindTurn. Returns any other error unchanged. */
export function translateTurnError(error: unknown): Error {
  if (!(error instanceof RpcError)) return error as Error;
  if (!error.isFromParley) return unavailableError(error);
  if (error.status === status.NOT_FOUND) return new HttpError(404, error.code, {}, { cause: error });
  if (error.status === status.FAILED_PRECONDITION) return new HttpError(409, error.code, {}, { cause: error });
  if (error.status === status.RESOURCE_EXHAUSTED) return overloadedError(error.code, error);
  return unavailableError(error);
}
