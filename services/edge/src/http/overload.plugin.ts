import { monitorEventLoopDelay } from "node:perf_hooks";
import type { FastifyReply, FastifyRequest } from "fastify";
import plugin from "fastify-plugin";
import { overloaded } from "./http-error.ts";

/** At the highest load that it can carry, an edge's event loop is late by less than 20 ms. */
const MAX_DELAY_MS = 100;
const SAMPLE_INTERVAL_MS = 500;
const RESOLUTION_MS = 10;

/** Sends 503 while the process is overloaded. An onRequest hook, so that the body is not read. */
type Refuse = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void;

declare module "fastify" {
  interface FastifyInstance {
    refuseIfOverloaded: Refuse;
  }
}

export type OverloadOptions = {
  /** Called for each refused request. */
  onRefused: () => void;
};

/**
 * Measures how late the event loop is. If it is late for long, the process has more work than it can do, and routes that start work refuse
 * it with `refuseIfOverloaded`, so that the replies that have begun are completed. The measure is the median of half a second: a single
 * pause, like a garbage collection, does not count as an overload.
 */
export const overload = plugin<OverloadOptions>(
  async (app, { onRefused }) => {
    const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    delays.enable();
    let medianMs = 0;
    const timer = setInterval(() => {
      // Without a sample, the loop was blocked all the time, which the next median will show.
      if (delays.count === 0) return;
      medianMs = delays.percentile(50) / 1e6 - RESOLUTION_MS;
      delays.reset();
    }, SAMPLE_INTERVAL_MS).unref();
    app.addHook("onClose", async () => {
      clearInterval(timer);
      delays.disable();
    });
    app.decorate("refuseIfOverloaded", (_request, _reply, done) => {
      if (medianMs <= MAX_DELAY_MS) return done();
      onRefused();
      done(overloaded());
    });
  },
  { name: "overload" },
);
