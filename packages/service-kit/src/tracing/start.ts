import type { Counter } from "prom-client";
import type { Lifecycle } from "../process/lifecycle.ts";
import type { Logger } from "../process/logger.ts";
import { openSecret } from "../settings/secrets.ts";
import type { TracingSettings } from "./settings.ts";
import { installTracer } from "./tracer.ts";

/** How long sending the last batch of spans may take when the service stops. */
const SHUTDOWN_TIMEOUT_MS = 3_000;

/** Turns tracing on. If `settings` is undefined, does nothing and loads no library. */
export async function startTracing(
  service: string,
  settings: TracingSettings | undefined,
  log: Logger,
  lifecycle: Lifecycle,
  reloadRefusals: Counter<"file">,
): Promise<void> {
  if (settings === undefined) return;
  const { createTracer } = await import("./opentelemetry.ts");
  const headers = settings.headers && openSecret(settings.headers, { log, lifecycle, reloadRefusals });
  const { tracer, shutDown } = createTracer(service, { ...settings, headers: headers?.current }, log);
  installTracer(tracer);
  lifecycle.onClose("traces", shutDown, SHUTDOWN_TIMEOUT_MS);
}
