import { monitorEventLoopDelay } from "node:perf_hooks";
import type { FastifyReply, FastifyRequest } from "fastify";
import plugin from "fastify-plugin";
import { overloaded } from "./http-error.ts";

/** At the highest load that it can carry, an edge's event loop is late by less than 20 ms. */
const MAX_DELAY_MS = 100;
const SAMPLE_INTERVAL_MS = 500;
/** A burst is not an overload: a thousand messages at once, which the edge can serve one after another, make it late for a few seconds. */
const MIN_LATE_SAMPLES = 20;
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
 * Measures how late the event loop is. If it is late for ten seconds, the process has more work than it can do. Until it is in time again,
 * routes that start work refuse it with `refuseIfOverloaded`, so that the replies that have begun are completed. Each sample is the median
 * of half a second, which a single pause, like a garbage collection, does not change.
 */
export const overload = plugin<OverloadOptions>(
  async (app, { onRefused }) => {
    const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    delays.enable();
    let lateSamples = 0;
    const timer = setInterval(() => {
      const isLate = delays.percentile(50) / 1e6 - RESOLUTION_MS > MAX_DELAY_MS;
      // Without a delay, the loop was blocked all the time, which the next sample will show.
      if (delays.count > 0) lateSamples = isLate ? lateSamples + 1 : 0;
      delays.reset();
    }, SAMPLE_INTERVAL_MS).unref();
    app.addHook("onClose", async () => {
      clearInterval(timer);
      delays.disable();
    });
    app.decorate("refuseIfOverloaded", (_request, _reply, done) => {
      if (lateSamples < MIN_LATE_SAMPLES) return done();
      onRefused();
      done(overloaded());
    });
  },
  { name: "overload" },
);
